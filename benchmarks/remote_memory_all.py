"""All measurements of remote memory, one after the other, for the page about Infiniswap.

    sudo python benchmarks/remote_memory_all.py [--only PART ...]
    python benchmarks/remote_memory_all.py --report [PART ...]

Runs each benchmark, keeps its results as a record, goes on after a failure or after twice the time
that a part takes, and writes the tables of docs/systems/infiniswap.md and one of
harmony-measurements.md from the records; `--report` does only that. All parts take 35 minutes on
an idle machine. Ends with status 1 if one has failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from support.figures import RESULTS
from support.hosts import ROOT
from support.infiniswap_page import PARTS, Part
from support.pages import put_into
from support.records import RecordMissing, keep

PAGES = ROOT / "docs" / "systems"
BEFORE = "## What it cannot do"
LONGEST = 2
"""A part is ended after so many times the time that it takes on an idle machine."""
HERE = Path(__file__).resolve()


def main() -> None:
    """See the module."""
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="PART")
    parser.add_argument("--report", nargs="*", choices=names, metavar="PART")
    given = parser.parse_args()
    if given.report is not None:
        write([part for part in PARTS if part.name in (given.report or names)])
        return
    chosen = [part for part in PARTS if part.name in given.only]
    if os.geteuid() and any(part.needs_root for part in chosen):
        sys.exit("remote_memory_all.py: needs root; without it: --only device prefetch simulation")
    measured = [part for part in chosen if measure(part)]
    write(measured)
    failed = [part.name for part in chosen if part not in measured]
    if failed:
        sys.exit(f"remote_memory_all.py: not measured: {', '.join(failed)}; see above")


def measure(part: Part) -> bool:
    """Whether there are results, which are the record then."""
    print(f"== {part.name}: {' '.join(part.script)}, about {part.minutes} min", flush=True)
    (RESULTS / f"{part.record}.json").unlink(missing_ok=True)
    began_s = time.monotonic()
    script, *options = part.script
    process = subprocess.Popen([sys.executable, HERE.parent / script, *options])
    try:
        status = process.wait(LONGEST * 60 * part.minutes)
    except subprocess.TimeoutExpired:
        process.terminate()  # It takes down what it has set up.
        status = process.wait() or 1
    took_min = (time.monotonic() - began_s) / 60
    print(f"== {part.name}: status {status} after {took_min:.1f} min", flush=True)
    try:
        if not status:
            print(f"kept: {keep(part.record)}")
            return True
    except RecordMissing as missing:
        print(missing, file=sys.stderr)
    return False


def write(parts: Sequence[Part]) -> None:
    """Put the tables of these parts into the page."""
    for part in parts:
        try:
            put_into(PAGES / part.page, part.section(), HERE.name, BEFORE, part.name)
        except RecordMissing as missing:
            print(f"{part.name}: not written: {missing}", file=sys.stderr)
        else:
            print(f"written: {part.page}: {part.name}")


if __name__ == "__main__":
    main()
