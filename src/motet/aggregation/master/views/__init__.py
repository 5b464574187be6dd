"""What commands, pages and metrics show of a pool, and why its tensors are where they are. Pure."""
