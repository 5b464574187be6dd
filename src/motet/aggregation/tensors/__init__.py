"""The tensors of a job on an Aggregator: gradients in, versions out; no sockets, no threads."""
