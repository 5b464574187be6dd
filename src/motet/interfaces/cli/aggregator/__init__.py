"""`motet aggregator`: a pool of Aggregators for the jobs of this machine."""
