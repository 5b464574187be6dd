"""Tokens that interleave the subtasks of the jobs on one machine (Harmony, W.-Y. Lee 2020, ch. 4).

One COMP runs at a time and one COMM, each under its token; a process of its own hands them out in
the order of the requests. It knows nothing of jobs, and no job depends on it.
"""
