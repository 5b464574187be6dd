"""One module for each file format: how to recognise it, how to read it."""
