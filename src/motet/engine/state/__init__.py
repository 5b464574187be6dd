"""The engine's state: columns of active jobs, finished jobs, placements and free slots."""
