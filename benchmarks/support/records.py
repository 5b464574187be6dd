"""Recorded results: what a slow measurement gave last, as small JSON files that are kept.

A benchmark leaves its figures in results/NAME.json, which is not kept. `keep`, or the benchmark
itself after a complete run, copies them to records/NAME.json, from which pages are written where
the measurement takes too long to repeat, or needs a testbed, a log or an idle machine.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.figures import RESULTS, Figure, report

RECORDS = Path(__file__).resolve().parents[1] / "records"
MADE = ("command", "date", "commit", "load")
"""What a record tells about how it was made; `load`: load averages, as text."""


class RecordMissing(Exception):
    """No record, or none of a figure; the message tells how to make it."""


@dataclass(frozen=True)
class Record:
    """`figures`: by name, as `support.figures.Figure` has them."""

    name: str
    made: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, name: str, folder: Path = RECORDS) -> Record:
        """Raises RecordMissing."""
        path = folder / f"{name}.json"
        if not path.exists():
            raise RecordMissing(
                f"{path}: no such record; run the benchmark, then evidence_table.py --keep {name}"
            )
        document = json.loads(path.read_text(encoding="utf-8"))
        figures = {figure["name"]: figure for figure in document["figures"]}
        return cls(name, document["made"], figures)

    def option(self, name: str, default: float) -> float:
        """A number on the command line. `default`: that of the script."""
        words = shlex.split(self.made["command"])
        return float(words[words.index(name) + 1]) if name in words else default

    def measured(self, figure: str) -> str:
        """As text, with its unit."""
        return str(self._figure(figure)["measured"])

    def peer(self, figure: str) -> str:
        """What it is compared with, as text."""
        return str(self._figure(figure)["peer"])

    def ratio(self, figure: str) -> float:
        """As a number."""
        return float(self._figure(figure)["ratio"])

    def judged(self, figure: str, digits: int = 2) -> str:
        """The ratio; with its aim, if it has one, and whether that was missed."""
        found = self._figure(figure)
        text = f"{self.ratio(figure):.{digits}f}"
        if found.get("target") is None:
            return text
        return f"{text}, aim {found['target']:g}{': missed' if found['verdict'] == 'MISS' else ''}"

    def ratios(self, beginning: str) -> list[float]:
        """Those of all figures whose names begin so. Raises RecordMissing if there are none."""
        return [ratio for _, ratio in self.ratios_of(beginning)]

    def ratios_of(self, beginning: str) -> list[tuple[str, float]]:
        """The same with the names of the figures, of those that have a ratio."""
        found = [
            (name, float(figure["ratio"]))
            for name, figure in self.figures.items()
            if name.startswith(beginning) and figure.get("ratio") is not None
        ]
        if not found:
            raise RecordMissing(f"records/{self.name}.json: no figure {beginning!r}...")
        return found

    def _figure(self, name: str) -> Mapping[str, Any]:
        if name not in self.figures:
            known = ", ".join(self.figures)
            raise RecordMissing(f"records/{self.name}.json: no figure {name!r}; it has {known}")
        return self.figures[name]


def keep(name: str, results: Path = RESULTS, records: Path = RECORDS) -> Path:
    """Copy the figures of the last run of a benchmark. Raises RecordMissing."""
    path = results / f"{name}.json"
    if not path.exists():
        raise RecordMissing(f"{path}: no results; run the benchmark first")
    document = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: document[key] for key in ("title", "made", "figures")}
    records.mkdir(parents=True, exist_ok=True)
    target = records / path.name
    target.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def report_and_keep(name: str, title: str, figures: Sequence[Figure]) -> None:
    """The end of a complete run: print its figures, and make them the record."""
    report(name, title, list(figures), plot=False)
    print(f"written: {keep(name)}")
