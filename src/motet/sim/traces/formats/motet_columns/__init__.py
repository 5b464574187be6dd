"""Formats with the columns of Motet's CSV."""
