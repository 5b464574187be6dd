"""The table of claims: what each paper says, our figure with its interval, and why they differ.

    python benchmarks/evidence_table.py [--seeds N] [--again]
    python benchmarks/evidence_table.py --report [recorded]
    python benchmarks/evidence_table.py --keep NAME

Simulates what the claims need, in less time than all pages need; `--report` writes docs/evidence.md
from these results and from the records in benchmarks/records, `--report recorded` only what comes
from records. `--keep NAME` makes the last results
of the benchmark NAME.py the record.
"""

from __future__ import annotations

import argparse
import sys

import harmony_simulation
import schedulers
from support.claims import claims_table, records_table
from support.figures import RESULTS
from support.harmony_page import Measured
from support.harmony_runs import measure_runs
from support.hosts import ROOT
from support.pages import put_into
from support.recorded_claims import NAMES, recorded_claims
from support.records import Record, RecordMissing, keep
from support.simulated_claims import contests, harmony_runs, simulated_claims

PAGE = ROOT / "docs" / "evidence.md"
FOLDER = RESULTS / "schedulers"
RECORDED = "recorded"


def main() -> None:
    """Measure what is missing, write the page, or keep a record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=schedulers.SEEDS, help="how many")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    parser.add_argument(
        "--report", nargs="?", const="all", choices=["all", RECORDED], help="write the page"
    )
    parser.add_argument("--keep", metavar="NAME", help="make the last results of NAME.py a record")
    arguments = parser.parse_args()
    try:
        if arguments.keep:
            print(f"written: {keep(arguments.keep)}")
        elif arguments.report:
            if arguments.report != RECORDED:
                write_simulated(arguments.seeds)
            write_recorded()
        else:
            for contest in contests(range(arguments.seeds)):
                contest.measure(FOLDER, again=arguments.again)
            runs = harmony_runs(arguments.seeds)
            measure_runs(runs, harmony_simulation.FOLDER, again=arguments.again)
    except (RecordMissing, FileNotFoundError) as missing:
        sys.exit(f"evidence_table.py: {missing}")


def write_simulated(seeds: int) -> None:
    """The claims that are simulated."""
    found = [contest.results(FOLDER) for contest in contests(range(seeds))]
    parts = [
        f"""## Simulated

Each seed draws its own workload. `±` is Student's 95 % interval of the mean over {seeds} seeds,
unless the text above names another number.""",
        claims_table(simulated_claims(found, Measured(harmony_simulation.FOLDER, seeds))),
    ]
    _put(parts, "")


def recorded_section() -> str:
    """The other claims, and the list of records, without its marks. Raises RecordMissing."""
    records = {name: Record.read(name) for name in NAMES}
    return "\n\n".join(
        [
            """## Measured on processes and machines, recorded

These measurements need a testbed, a log, an idle machine or an hour. The figures are those of the
last recorded run; most are of one run and have no interval. [Records](#records) has the conditions
of each.""",
            claims_table(recorded_claims(records)),
            """## Records

The commit is that of the measured code; `+changes` stands behind it where this code had changes
that were not committed. Transcribed figures were copied by hand from the page of the system,
because the command wrote no records then; their commit is the one that added them.""",
            records_table(list(records.values())),
        ]
    )


def write_recorded() -> None:
    """That section of the page."""
    _put([recorded_section()], RECORDED)


def _put(parts: list[str], part: str) -> None:
    put_into(PAGE, "\n\n".join(parts), "evidence_table.py", "## What it cannot say", part)
    print(f"written: {PAGE}{f': {part}' if part else ''}")


if __name__ == "__main__":
    main()
