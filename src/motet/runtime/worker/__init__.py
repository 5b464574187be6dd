"""The worker: data blocks, mini-batches and the subtasks PULL, COMP and PUSH."""
