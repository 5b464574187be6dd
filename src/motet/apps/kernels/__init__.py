"""Inner loops of applications, compiled, and their random numbers."""
