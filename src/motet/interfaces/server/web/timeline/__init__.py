"""The pages of time axes: attempts of jobs and their predicted future, subtasks of machines."""
