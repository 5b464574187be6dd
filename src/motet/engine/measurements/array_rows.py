"""Rows of any dataclass whose fields are arrays of one length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from motet.domain.arrays import Ints, read_only

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


def leading_rows(table: T, size: int) -> T:
    """Read-only views of the first rows; fields that are no arrays stay."""

    def column(name: str) -> Any:
        values = getattr(table, name)
        return read_only(values[:size]) if isinstance(values, np.ndarray) else values

    return _made(table, column)


def _made(like: T, column: Callable[[str], Any]) -> T:
    columns = {field.name: column(field.name) for field in fields(like)}  # type: ignore[arg-type]
    return type(like)(**columns)
