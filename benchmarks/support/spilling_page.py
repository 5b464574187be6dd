"""Shares of spilled input among Harmony's measurements, from the record of the sweep."""

from __future__ import annotations

from collections.abc import Iterator

from support.hosts import ROOT
from support.pages import Row, put_into, table
from support.records import Record

PAGE = ROOT / "docs" / "systems" / "harmony-measurements.md"
SCRIPT, NEXT_HEADING = "spilling.py", "## What it cannot do"
COMPARED = "epoch: auto, best fixed share"


def write_page(record: Record, jobs: str) -> None:
    """`jobs`: what shares the memory, as text. Raises RecordMissing."""
    put_into(PAGE, section(record, jobs), SCRIPT, NEXT_HEADING)
    print(f"written: {PAGE}")


def section(record: Record, jobs: str) -> str:
    """All shares, and `auto` against the best one. Raises RecordMissing."""
    made = record.made
    return "\n\n".join(
        [
            f"""`{made["command"]}`, {made["date"]}, load {made["load"]}: {jobs}, which take
turns; seconds of an epoch, the mean over jobs and epochs after the first four. A share with which
the kernel kills a job does not count. One run of each share, two of `auto`:""",
            table(["on disk", "epoch", "waiting for data"], _rows(record)),
            f"""An epoch with `auto`, as times of one with the best share that is the same for all
jobs: {record.judged(COMPARED)}; the paper: 0.84.""",
        ]
    )


def _rows(record: Record) -> Iterator[Row]:
    for name in record.figures:
        if name != COMPARED:
            yield [name, record.measured(name), record.peer(name)]
