"""Common parts of all commands: exit codes, output folders, signals, option groups."""
