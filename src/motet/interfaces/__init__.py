"""Where everything is wired together: the command line."""
