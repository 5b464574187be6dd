"""`motet train`: from the options to a job on a cluster."""
