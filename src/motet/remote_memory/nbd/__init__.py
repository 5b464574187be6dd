"""A device as a network block device: the NBD protocol, newstyle, on a Unix socket."""
