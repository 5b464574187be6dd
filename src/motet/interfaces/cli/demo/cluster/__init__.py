"""`motet demo`: a live cluster, and a dozen jobs that arrive within a minute."""
