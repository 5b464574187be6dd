"""Rows of the table of claims: what a paper says, what is reached here, and why they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from motet.report.simulation.group_estimates import Estimate
from support.pages import Row, table
from support.records import Record


@dataclass(frozen=True)
class Claim:
    """`paper`: what it says. `here`: with its interval. `command`: that gives it. `why`: one
    sentence."""

    paper: str
    here: str
    command: str
    why: str

    @property
    def row(self) -> Row:
        """The cells of the table."""
        return [self.paper, self.here, f"`{self.command}`", self.why]


def claims_table(by_system: Mapping[str, Sequence[Claim]]) -> str:
    """A line per claim; the system's name stands at its first."""
    rows = [
        [system if number == 0 else "", *claim.row]
        for system, claims in by_system.items()
        for number, claim in enumerate(claims)
    ]
    return table(["", "the paper", "here", "command", "why they differ"], rows)


def records_table(records: Sequence[Record]) -> str:
    """When and how each record was made."""
    rows = []
    for record in records:
        made = record.made
        page = made.get("transcribed")
        origin = f"transcribed from `{page}`" if page else "as the command wrote it"
        name = f"`benchmarks/records/{record.name}.json`"
        rows.append([name, f"`{made['command']}`", made["date"], f"`{made['commit']}`",
                     made["load"], origin])  # fmt: skip
    return table(["record", "command", "date", "commit", "load", "figures"], rows)


def times(estimate: Estimate) -> str:
    """`1.61 ±0.12 times`."""
    return f"{_plus_minus(estimate.mean, estimate.half_width, 2)} times"


def less(ratio: Estimate) -> str:
    """A ratio below 1 as `26 ±11 % less`."""
    part = 100 * (1 - ratio.mean)
    more_or_less = "less" if part >= 0 else "more"
    half_width = None if ratio.half_width is None else 100 * ratio.half_width
    return f"{_plus_minus(abs(part), half_width, 0)} % {more_or_less}"


def span(values: Sequence[float], *, percent: bool = False, digits: int = 0) -> str:
    """`50 to 71 %`: the least and the largest of single measurements."""
    factor, unit = (100, " %") if percent else (1, "")
    low, high = (f"{factor * value:.{digits}f}" for value in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _plus_minus(mean: float, half_width: float | None, digits: int) -> str:
    text = f"{mean:.{digits}f}"
    return text if half_width is None else f"{text} ±{half_width:.{digits}f}"
