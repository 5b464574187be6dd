"""Evidence for Harmony by simulation: against jobs alone and jobs together without a choice.

    python benchmarks/harmony_simulation.py [--seeds N] [--again]
    python benchmarks/harmony_simulation.py --report

80 jobs with COMP and COMM times on 100 machines (`motet.sim.generate.harmony`). Every simulation
leaves its figures in results/harmony; what has a file is not run again without --again. `--report`
writes the tables into docs/systems/harmony.md.
"""

from __future__ import annotations

import argparse

from support import harmony_page
from support.figures import RESULTS

FOLDER = RESULTS / "harmony"


def main() -> None:
    """Measure what is missing, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many (5); windows: twice as many")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    parser.add_argument("--report", action="store_true", help="write the page")
    arguments = parser.parse_args()
    if arguments.report:
        harmony_page.write(FOLDER, arguments.seeds)
    else:
        harmony_page.measure(FOLDER, arguments.seeds, again=arguments.again)


if __name__ == "__main__":
    main()
