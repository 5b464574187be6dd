"""Input and models that are kept on disk between their uses (Harmony, W.-Y. Lee 2020, 4.3.3).

A worker's sections beyond a share of them are written to a spill target, a file on a local disk; a
thread reads each before its mini-batch and frees its memory after it. The target is an interface.
Where that does not suffice, blocks of the model are on it while no request uses them.
"""
