"""How long tokens are valid."""

USUAL_LIFE_DAYS = 365
"""Of a token for which nothing else is asked."""
