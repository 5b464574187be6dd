"""`motet demo`: several real models at once."""
