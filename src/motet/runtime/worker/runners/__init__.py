"""How a worker runs a mini-batch: its subtasks one after the other, or beside those of others."""
