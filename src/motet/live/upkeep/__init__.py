"""What keeps a server usable for years: backups, and an end to what is no longer needed."""
