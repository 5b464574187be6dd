"""Measured figures beside their targets: printed as a table, written as JSON, drawn as bars."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"
CHANGED = "+changes"
"""Behind the commit of a measurement whose code had changes that were not committed."""
_CODE = ("src", "benchmarks", ":!benchmarks/records")
_LOAD_AT_START = os.getloadavg()[0]


@dataclass(frozen=True)
class Figure:
    """One measurement. `ratio`: against the peer of the same run; `target`: its bound.

    `at_least`: whether the ratio must reach the target (else it must not exceed it).
    """

    name: str
    measured: str
    peer: str = ""
    ratio: float | None = None
    target: float | None = None
    at_least: bool = True

    @property
    def verdict(self) -> str:
        """ "ok", "MISS", or nothing when there is no target."""
        if self.ratio is None or self.target is None:
            return ""
        met = self.ratio >= self.target if self.at_least else self.ratio <= self.target
        return "ok" if met else "MISS"


def report(name: str, title: str, figures: list[Figure], plot: bool = True) -> None:
    """Print the figures and write `results/NAME.json` and `results/NAME.png`."""
    print(f"\n{title}")
    print(f"{'':44} {'measured':>16} {'peer':>16} {'ratio':>8} {'target':>9}")
    for figure in figures:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.3g}"
        sign = ">=" if figure.at_least else "<="
        target = "" if figure.target is None else f"{sign} {figure.target:g}"
        print(
            f"{figure.name:44} {figure.measured:>16} {figure.peer:>16} {ratio:>8} {target:>9} "
            f"{figure.verdict}"
        )
    RESULTS.mkdir(exist_ok=True)
    document = {
        "title": title,
        "made": made_here(),
        "machine": {"processor": platform.processor(), "python": platform.python_version()},
        "figures": [asdict(figure) | {"verdict": figure.verdict} for figure in figures],
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(document, indent=1))
    if plot:
        _draw(title, figures, path.with_suffix(".png"))
    print(f"written: {path}")


def made_here() -> dict[str, str]:
    """The command of this process, the date, the commit and the load averages of the machine."""
    script = Path(sys.argv[0]).name
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return {
        "command": shlex.join(["python", f"benchmarks/{script}", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit_of(RESULTS.parents[1]),
        "load": f"{loads} on {os.cpu_count()} cores ({_LOAD_AT_START:.1f} at the start)",
    }


def commit_of(tree: Path) -> str:
    """HEAD, with CHANGED where code differs from it; records and pages are no code."""
    head = _git(tree, "rev-parse", "--short=8", "HEAD")
    if not head:
        return "unknown"
    return head + (CHANGED if _git(tree, "status", "--porcelain", "--", *_CODE) else "")


def _git(tree: Path, *arguments: str) -> str:
    """Its output; nothing where it fails."""
    command = ["git", "-C", str(tree), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def parser(description: str) -> argparse.ArgumentParser:
    """An argument parser with what every benchmark understands."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help="fewer repetitions")
    return made


def _draw(title: str, figures: list[Figure], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [f for f in figures if f.ratio is not None and f.target]
    if not rows:
        return
    scores = [
        (f.ratio or 0) / (f.target or 1) if f.at_least else (f.target or 1) / (f.ratio or 1)
        for f in rows
    ]
    colours = ["#2a9d8f" if score >= 1 else "#e76f51" for score in scores]
    figure, axes = pyplot.subplots(figsize=(8, 0.35 * len(rows) + 1.2), layout="constrained")
    axes.barh([f.name for f in rows], scores, color=colours)
    axes.axvline(1, color="#264653", linewidth=1)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("measured / target (right of the line: met)")
    axes.set_title(title, loc="left", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
