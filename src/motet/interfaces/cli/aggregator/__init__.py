"""`motet aggregator`: the shared pool of Aggregators of PyTorch jobs."""
