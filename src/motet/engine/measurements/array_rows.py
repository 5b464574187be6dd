"""Rows of any dataclass whose fields are all arrays of one length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from motet.domain.arrays import Ints

T = TypeVar("T")


def rows_of(table: T, rows: Ints) -> T:
    """Select rows, in this order."""
    return _made(table, lambda name: getattr(table, name)[rows])


def appended_rows(first: T | None, then: T | None) -> T:
    """Concatenate rows; at least one of the tables must not be None."""
    table = then if first is None else first
    assert table is not None
    if first is None or then is None:
        return table
    return _made(table, lambda name: np.concatenate([getattr(first, name), getattr(then, name)]))


def _made(like: T, column: Callable[[str], Any]) -> T:
    columns = {field.name: column(field.name) for field in fields(like)}  # type: ignore[arg-type]
    return type(like)(**columns)
