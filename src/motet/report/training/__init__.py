"""Tables, documents, plots and folders of training jobs and of their plans."""
