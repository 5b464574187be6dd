"""Executors as processes of this machine, forked from one process that has imported everything."""
