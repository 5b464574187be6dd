"""Inner loops of applications, most of them compiled, and their random numbers."""
