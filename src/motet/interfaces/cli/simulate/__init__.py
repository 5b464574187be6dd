"""`motet simulate`, `compare`, `explain` and `policy`."""
