"""A device as one large file: the kernel's FUSE protocol, without a library."""
