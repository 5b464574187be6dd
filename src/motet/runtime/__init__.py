"""The elastic parameter-server runtime: tables, executors, the worker loop, checkpoints."""
