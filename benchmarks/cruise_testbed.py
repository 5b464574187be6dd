"""Evidence for Cruise on a testbed of eight hosts: what it finds against all that there is.

    python benchmarks/cruise_testbed.py [--only grid|cruise|types|opportunistic|link]
                                        [--apps nmf,mlr,...] [--again]
    python benchmarks/cruise_testbed.py --report

Needs Linux and root. Every job leaves a file in results/cruise; what has one is not run again
without --again. `--report` makes tables and figures of what is there.

grid            one job per application walks through all numbers of workers and servers and back
cruise          `motet train --auto` from one worker and from one server
types           two of eight hosts are three times as fast: --auto against the best even split
opportunistic   four hosts, then eight, then four again
link            blocks move while a job trains: bytes per second, mini-batches meanwhile
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from support.figures import RESULTS
from support.hosts import CommandFailed, hosts_up
from support.testbed_cases import BANDWIDTH, CASES, CPUS
from support.testbed_runs import run_train, run_walk

FOLDER = RESULTS / "cruise"
BED = "cruise"
AUTO_EPOCHS = {"nmf": 24, "mlr": 24, "lda": 24, "lasso": 120}


def grid(apps: Sequence[str], machines: int, again: bool) -> None:
    """Epoch time of every (w, s) with w + s = machines, up and down."""
    up = [(workers, machines - workers) for workers in range(1, machines)]
    stops = [*up, *up[-2::-1]]
    with hosts_up(BED, *_equal(machines)) as hosts:
        for app in apps:
            _once(
                FOLDER / f"grid-{app}.jsonl",
                again,
                lambda out, app=app: run_walk(hosts, CASES[app], stops, machines, out),
            )


def cruise(apps: Sequence[str], machines: int, again: bool) -> None:
    """--auto from both ends of the grid."""
    with hosts_up(BED, *_equal(machines)) as hosts:
        for app in apps:
            for workers in (1, machines - 1):
                flags = [
                    *("--machines", str(machines), "--auto", "--checkpoint-every", "1000"),
                    *("--workers", str(workers), "--servers", str(machines - workers)),
                    *("--epochs", str(AUTO_EPOCHS[app])),
                ]
                _once(
                    FOLDER / f"cruise-{app}-{workers}.json",
                    again,
                    lambda out, app=app, flags=flags: run_train(hosts, CASES[app], flags, out),
                )


PARTS: dict[str, Callable[[Sequence[str], int, bool], None]] = {"grid": grid, "cruise": cruise}


def main() -> None:
    """The parts that were asked for, one after another."""
    chosen = _arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in chosen.only or PARTS:
        began_s = time.monotonic()
        print(f"== {name}", flush=True)
        try:
            PARTS[name](chosen.apps, chosen.hosts, chosen.again)
        except CommandFailed as failure:
            failed.append(f"{name}: {failure}")
            print(f"FAILED {failed[-1]}", flush=True)
        print(f"== {name}: {time.monotonic() - began_s:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(PARTS), help="repeatable")
    parser.add_argument("--apps", type=_names, default=list(CASES), metavar="A,B")
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--again", action="store_true", help="also what has its file already")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(CASES):
        raise argparse.ArgumentTypeError(f"{sorted(unknown)}: there are {', '.join(CASES)}")
    return names


def _equal(machines: int) -> list[str]:
    return ["--machines", str(machines), "--cpus", CPUS, "--bandwidth", BANDWIDTH]


def _once(out: Path, again: bool, measure: Callable[[Path], None]) -> None:
    """Measure unless there is a result; a failure does not keep the next measurement away."""
    if out.exists() and not again:
        print(f"{out.name}: there already", flush=True)
        return
    began_s = time.monotonic()
    try:
        measure(out)
    except CommandFailed as failure:
        print(f"{out.name}: FAILED: {failure}", flush=True)
    else:
        print(f"{out.name}: {time.monotonic() - began_s:.0f} s", flush=True)


if __name__ == "__main__":
    main()
