"""Tables, figures, documents and files of results."""
