"""Evidence for the schedulers: SLAQ, Optimus, Themis and the others on the same workloads.

    python benchmarks/schedulers.py [--only PART] [--seeds N] [--again]
    python benchmarks/schedulers.py --report

Every simulation leaves its figures in results/schedulers; what has a file is not run again without
--again. PARTs: slaq, optimus, themis, side, predictions. `--report` writes tables and figures of
what is there into docs; `make evidence` does both.
"""

from __future__ import annotations

import argparse
from types import ModuleType

from support import optimus_page, predictions_page, side_page, slaq_page, themis_page
from support.figures import RESULTS

FOLDER = RESULTS / "schedulers"
SCRIPT, SEEDS = "schedulers.py", 5
CLAIMS = "### The claims of the paper"
PARTS: dict[str, tuple[ModuleType, str]] = {
    "slaq": (slaq_page, CLAIMS),
    "optimus": (optimus_page, CLAIMS),
    "themis": (themis_page, CLAIMS),
    "side": (side_page, "## Notes on the tables"),
    "predictions": (predictions_page, "## What it cannot do"),
}
"""With the line before which the section comes if the page has none yet."""


def main() -> None:
    """Measure what is missing, or write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many ({SEEDS})")
    parser.add_argument("--quick", action="store_true", help="two seeds")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    parser.add_argument("--report", action="store_true", help="write the pages")
    arguments = parser.parse_args()
    seeds = range(2 if arguments.quick else arguments.seeds)
    for name in [arguments.only] if arguments.only else PARTS:
        page, heading = PARTS[name]
        contests = page.contests(seeds)
        if arguments.report:
            page.write([contest.results(FOLDER) for contest in contests], SCRIPT, heading)
            continue
        for contest in contests:
            contest.measure(FOLDER, again=arguments.again)


if __name__ == "__main__":
    main()
