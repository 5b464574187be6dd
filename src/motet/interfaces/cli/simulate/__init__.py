"""The commands `motet simulate`, `compare`, `explain` and `policy`."""
