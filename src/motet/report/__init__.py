"""Tables, plots and files made from results."""
