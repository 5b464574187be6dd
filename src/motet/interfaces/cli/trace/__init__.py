"""`motet trace`: describe, convert and generate job traces."""
