"""The pool of Aggregators of a live cluster: its processes, and the jobs that may use it."""
