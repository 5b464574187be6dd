"""`motet app`, and the parameters of applications as text."""
