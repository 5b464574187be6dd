"""`motet demo --training`: trains several real models at the same time."""
