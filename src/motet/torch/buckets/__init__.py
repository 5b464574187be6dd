"""Small parameters whose gradients and values travel together, as in DistributedDataParallel."""
