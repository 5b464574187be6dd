"""What every command shares: exit codes, output folders, signals, option groups."""
