"""Headers of tables in messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.sim.traces import read_trace
from motet.sim.traces.curve_files import read_curve
from motet.sim.traces.source import Source
from motet.sim.traces.table import listed_columns

FileOf = Callable[..., Path]
NAMES = [f"a column with the number {number}" for number in range(100, 113)]
LISTED = f"the header has {', '.join(NAMES[:12])}, ... (13 in all); "


def test_columns_are_listed_up_to_a_dozen_and_shortened_only_if_long() -> None:
    assert listed_columns(["a", "b" * 50]) == f"a, {'b' * 40}..."
    names = [str(number) for number in range(13)]
    assert listed_columns(names[:12]).endswith("10, 11")
    assert listed_columns(names).endswith("10, 11, ... (13 in all)")


@pytest.mark.parametrize("form", ["motet", "table"])
def test_a_long_header_is_listed_by_whole_names(file_of: FileOf, form: str) -> None:
    path = file_of(",".join(NAMES) + "\n")
    columns = {"submit_time": NAMES[0]} if form == "table" else {}
    with pytest.raises(BadInput) as caught:
        read_trace(path, format=form, columns=columns)
    assert LISTED in str(caught.value)


def test_a_long_header_of_a_curve_is_listed_by_whole_names(file_of: FileOf) -> None:
    source = Source.open(file_of(",".join(NAMES) + "\n"), wanted="a CSV of losses")
    with pytest.raises(BadInput) as caught:
        read_curve(source)
    assert LISTED in str(caught.value)
