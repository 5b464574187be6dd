"""Tables in several widths."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.text import Text

from motet.report.rendering.fitting_table import ExplainedTable, FittingTable, result_table


def printed(shown: object, width: int) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize(("width", "shown"), [(20, "x" * 15), (10, "y" * 8), (3, "z" * 3)])
def test_the_first_alternative_that_fits_is_shown(width: int, shown: str) -> None:
    choices = [Text("x" * 15), Text("y" * 8), Text("z" * 3)]

    assert printed(FittingTable(choices), width) == [shown]


def test_the_last_alternative_is_shown_where_none_fits() -> None:
    assert printed(FittingTable([Text("x" * 15), Text("y" * 8)]), 4) == ["yyyy", "yyyy"]


def test_a_legend_is_below_its_table_and_does_not_widen_it() -> None:
    table = result_table()
    table.add_column("a")
    table.add_row("1")
    explained = ExplainedTable(table, Text("a: " + "long " * 10))

    lines = printed(FittingTable([explained, Text("narrow")]), 20)
    assert lines[0] == "a"
    assert lines[lines.index("") + 1].startswith("a: long")
