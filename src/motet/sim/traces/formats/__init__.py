"""One module per trace format: how to recognise it, how to read it."""
