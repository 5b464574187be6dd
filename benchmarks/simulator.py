"""CPU-seconds and peak memory of simulations, with placement and wait reasons.

    python benchmarks/simulator.py [--quick] [--only TEXT]... [--again]
    python benchmarks/simulator.py --list
    python benchmarks/simulator.py --report

Philly's log (82,247 jobs) under every policy, where it is at hand, and with the decision log and
its file under two of them; generated workloads of growing size at a constant load, so that the cost
of an event can be seen against the number of jobs; a year of a large cluster in Helios' shape, a
million jobs that are read from a file.

Every line of the table is a process of its own, as its peak memory is measured, and leaves its
figures in results/simulator; what has a file is not run again without --again. `--only` selects the
lines whose names contain the text; `--report` writes the table of what is there into
docs/reference/simulate.md.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from support import simulator_page
from support.figures import Figure, parser, report
from support.simulator_lines import Line, Taken, lines, measured

SCRIPT = "simulator.py"
PHILLY_HINT = (
    "lines of Philly's log need it as DIR/traces/philly.csv.gz (format `philly`), and "
    "MOTET_SHARED=DIR"
)


def run(chosen: Sequence[Line], *, again: bool) -> list[Figure]:
    """Measure these, each in a process of its own."""
    figures = list[Figure]()
    for line in chosen:
        if again or Taken.of(line) is None:
            subprocess.run([sys.executable, __file__, "--line", line.name], check=True)
        if (taken := Taken.of(line)) is not None:
            figures.append(taken.figure(line))
    return figures


def main() -> None:
    """Measure what is missing, list the lines, or write the page."""
    options = parser((__doc__ or "").splitlines()[0])
    options.add_argument("--only", action="append", metavar="TEXT", help="lines with this name")
    options.add_argument("--again", action="store_true", help="also what was measured before")
    options.add_argument("--list", action="store_true", help="print the names of the lines")
    options.add_argument("--report", action="store_true", help="write the page")
    options.add_argument("--line", metavar="NAME", help="one of them, in this process")
    arguments = options.parse_args()
    every = {line.name: line for line in lines(quick=arguments.quick)}
    wanted = arguments.only or [""]
    chosen = [line for name, line in every.items() if any(text in name for text in wanted)]
    if not chosen and not arguments.report:
        options.error(f"no line has {' or '.join(map(repr, wanted))} in its name; {PHILLY_HINT}")
    if arguments.list:
        print("\n".join(line.name for line in chosen))
    elif arguments.line:
        line = every[arguments.line]
        taken = measured(line)
        taken.keep(line)
        print(f"{line.name}: {taken.cpu_s:.2f} CPU-s, {taken.peak_bytes / 1e6:,.0f} MB", flush=True)
    elif arguments.report:
        simulator_page.write([*every.values()], SCRIPT)
    else:
        report(
            "simulator", "Simulations, CPU-seconds of one core", run(chosen, again=arguments.again)
        )


if __name__ == "__main__":
    main()
