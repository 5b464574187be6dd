"""Tables, documents and folders of simulations and of their comparisons."""
