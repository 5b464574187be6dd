"""The subtasks of jobs that share machines: the record of arbiters, and what pages draw of it."""
