"""The live cluster in Python: `motet.Client`, and what its server answers as typed values."""
