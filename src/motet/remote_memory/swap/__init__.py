"""Swap space on a device: what root sets up in the kernel, and takes down again."""
