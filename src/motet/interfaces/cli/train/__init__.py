"""`motet train`: from flags to a job on a cluster."""
