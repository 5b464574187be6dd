"""Input data that is kept on disk and read again before each use (Harmony, W.-Y. Lee 2020, 4.3.3).

A worker's sections beyond a share of them are written to a spill target, a file on a local disk; a
thread reads each before its mini-batch and frees its memory after it. The target is an interface.
"""
