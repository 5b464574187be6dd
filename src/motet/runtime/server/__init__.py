"""The parameter server: shards of blocks, their requests, their moves between executors."""
