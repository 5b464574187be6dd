"""What is not known but can be estimated. Pure."""
