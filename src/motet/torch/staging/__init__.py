"""Tensors of devices, which travel through memory of the host."""
