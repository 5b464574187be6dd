"""`motet explain`: why a job waited and where it ran, live or simulated."""
