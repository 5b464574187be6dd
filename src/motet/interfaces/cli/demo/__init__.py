"""`motet demo`: trains several real models at the same time."""
