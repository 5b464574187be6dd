"""How bytes travel between processes: TCP, or a unix socket with shared memory on one host."""
