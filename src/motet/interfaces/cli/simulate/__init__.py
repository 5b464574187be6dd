"""The commands `motet simulate`, `compare` and `policy`."""
