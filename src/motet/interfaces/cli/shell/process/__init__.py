"""The child process of a command, its scratch folder and signals."""
