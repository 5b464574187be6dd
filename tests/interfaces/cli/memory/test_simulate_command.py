"""`motet memory simulate`: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet

SMALL = ("--machines", "12", "--time", "40s", "--grows", "5s")


def run(*arguments: object) -> str:
    words = ["memory", "simulate", *map(str, arguments)]
    result = CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_the_page_has_all_strategies_beside_the_chapters_figures() -> None:
    page = run(*SMALL)
    assert "34 containers on 12 machines" in page
    assert "two choices, batch eviction" in page
    assert "random lender, random eviction" in page
    assert "22.50" in page


def test_the_folder_has_the_figure_and_the_machines_of_the_document(tmp_path: Path) -> None:
    document = json.loads(run(*SMALL, "--json", "--out", tmp_path / "out"))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"balance.png", "machines.csv", "summary.json"}
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == document
    with (tmp_path / "out" / "machines.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == document["setup"]["machines"] == 12
    assert [run["name"] for run in document["runs"]] == [
        name.removeprefix("lent_slabs: ") for name in rows[0] if name.startswith("lent_slabs: ")
    ]
    assert document["paper"]["without"]["max_min"] == 22.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "16G"], "no room for a container with 15 GiB"),
        (["--head-room", "62G"], "no machine can lend a slab"),
        (["--time", "1s"], "--time 1 s: give 2 s or more"),
    ],
)
def test_what_cannot_be_simulated_is_refused(options: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(*options)
