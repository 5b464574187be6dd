"""Columns of a row of `gram_descent`: the coefficient w, then c, then the row of G."""

from __future__ import annotations

COEFFICIENT, CORRELATION, GRAM = 0, 1, 2
