"""Loading of policies by name or from user files, and errors in such files."""
