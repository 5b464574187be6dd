"""`motet doctor`: checks of what a live cluster needs, each with a remedy."""
