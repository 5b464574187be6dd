"""What commands take from the environment and from configuration files."""
