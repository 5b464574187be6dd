"""Nested entries of documents as flat columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_AT_THE_END = ("_half_width", "_s")
"""What is measured, then the statistic, then these."""


def flat_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    """`{"jct_s": {"mean": 1.0}}` as `{"jct_mean_s": 1.0}`: the unit stays at the end."""
    return dict(_flattened("", document))


def _flattened(outer: str, document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _flattened(_joined(outer, name), value)
        else:
            yield _joined(outer, name), value


def _joined(outer: str, name: str) -> str:
    if not outer:
        return name
    ending = ""
    for each in _AT_THE_END:
        if outer.endswith(each):
            outer, ending = outer.removesuffix(each), each + ending
    return f"{outer}_{name}{ending}"
