"""The Aggregator: a process that serves many jobs' tensors within its cycle."""
