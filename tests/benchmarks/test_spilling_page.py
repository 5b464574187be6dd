"""The table of shares of spilled input, from a record."""

from __future__ import annotations

from dataclasses import asdict

from support.figures import Figure
from support.records import Record
from support.spilling_page import COMPARED, section

MADE = {"command": "python benchmarks/spilling.py", "date": "2026-11-27", "load": "0.2 on 2 cores"}


def record(ratio: float) -> Record:
    figures = [
        Figure("share 0.9", "0.800 s", "0.200 s"),
        Figure("share 0.6", "1 killed"),
        Figure("auto", "0.700 s", "0.150 s"),
        Figure(COMPARED, "0.700 s", "0.800 s", ratio, 1.0, at_least=False),
    ]
    named = {each.name: asdict(each) | {"verdict": each.verdict} for each in figures}
    return Record("spilling", MADE, named)


def test_each_share_is_a_row_and_the_comparison_a_sentence() -> None:
    text = section(record(0.875), "3 jobs")
    assert "| share 0.9 | 0.800 s | 0.200 s |" in text
    assert "| share 0.6 | 1 killed |  |" in text
    assert COMPARED not in text
    assert "jobs: 0.88, aim 1; the paper" in text
    assert "load 0.2 on 2 cores: 3 jobs" in text


def test_an_aim_that_was_missed_is_told() -> None:
    assert "jobs: 1.14, aim 1: missed; the paper" in section(record(1.14), "3 jobs")
