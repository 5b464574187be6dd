"""`motet demo`: a live cluster with a dozen jobs, or several models that train at the same time."""
