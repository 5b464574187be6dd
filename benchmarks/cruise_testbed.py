"""Evidence for Cruise on a testbed of eight hosts: what it finds against all that there is.

    python benchmarks/cruise_testbed.py [--only grid|cruise|types|opportunistic|link]
                                        [--apps nmf,mlr,...] [--name BED] [--again]
    python benchmarks/cruise_testbed.py --report

Needs Linux and root. Every job leaves a file in results/cruise; what has one is not run again
without --again. `--report` makes tables and figures of what is there.

grid            one job per application walks through all numbers of workers and servers and back
cruise          as `motet train --auto`, from one worker and from one server
types           two of eight hosts are three times as fast: --auto against even splits
opportunistic   four hosts, then eight, then four again
link            blocks move while a job trains: bytes per second, mini-batches meanwhile
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.autotuned import AutotunedRun
from support.cruise_report import write_report
from support.evidence import Grid, visits_of
from support.figures import RESULTS
from support.hosts import CommandFailed, Hosts, hosts_up, unwind_when_terminated
from support.recorder import read_events
from support.testbed_cases import (
    BANDWIDTH,
    CASES,
    CPUS,
    FAST_CPUS,
    FAST_HOSTS,
    MOVES_BANDWIDTH,
    OPPORTUNISTIC,
    SLOW_CPUS,
    Case,
)
from support.testbed_runs import Act, Quotas, run_autotuned, run_link, run_walk

FOLDER = RESULTS / "cruise"
TYPES_CASE = CASES["mlr"]
NOTICE = ("--notice", "60s")


@dataclass(frozen=True)
class Wanted:
    """What was asked for. `bed`: the testbed's name; `again`: also what has its file already."""

    apps: Sequence[str]
    machines: int
    bed: str
    again: bool

    def equal_hosts(self) -> AbstractContextManager[Hosts]:
        """All of them like the cases want them."""
        shape = ("--machines", str(self.machines), "--cpus", CPUS, "--bandwidth", BANDWIDTH)
        return hosts_up(self.bed, *shape)

    @contextmanager
    def unequal_hosts(self) -> Iterator[Hosts]:
        """Some of them fast."""
        lines = ["name,count,cpus,bandwidth", f"fast,{FAST_HOSTS},{FAST_CPUS},{BANDWIDTH}"]
        lines.append(f"slow,{self.machines - FAST_HOSTS},{SLOW_CPUS},{BANDWIDTH}")
        with TemporaryDirectory() as folder:
            file = Path(folder) / "types.csv"
            file.write_text("\n".join(lines))
            with hosts_up(self.bed, "--types", str(file)) as hosts:
                yield hosts

    def unequal_quotas(self) -> Quotas:
        """What `unequal_hosts` have when nothing is hurried."""
        fast = [f"fast-{number}" for number in range(FAST_HOSTS)]
        slow = [f"slow-{number}" for number in range(self.machines - FAST_HOSTS)]
        return {FAST_CPUS: fast, SLOW_CPUS: slow}

    def missing(self, names: Iterable[str]) -> list[Path]:
        """The files that are to be made."""
        found = []
        for path in (FOLDER / name for name in names):
            if path.exists() and not self.again:
                print(f"{path.name}: there already", flush=True)
            else:
                found.append(path)
        return found


def grid(wanted: Wanted) -> None:
    """Epoch time of every (w, s) with w + s = machines, up and down."""
    up = [(workers, wanted.machines - workers) for workers in range(1, wanted.machines)]

    def measure(hosts: Hosts, out: Path) -> None:
        case = CASES[out.stem.split("-")[1]]
        run_walk(hosts, case, [*up, *up[-2::-1]], case.quotas, out)

    _each(wanted.missing(f"grid-{app}.jsonl" for app in wanted.apps), wanted.equal_hosts, measure)


def cruise(wanted: Wanted) -> None:
    """--auto from both ends of the grid."""
    ends = (1, wanted.machines - 1)
    names = [f"cruise-{app}-{workers}.jsonl" for app in wanted.apps for workers in ends]

    def measure(hosts: Hosts, out: Path) -> None:
        _, app, workers = out.stem.split("-")
        case = CASES[app]
        run_autotuned(hosts, _autotuned(case, wanted.machines, int(workers)), case.quotas, out)

    _each(wanted.missing(names), wanted.equal_hosts, measure)


def types(wanted: Wanted) -> None:
    """Even shares in all configurations; then --auto from the best one on equal hosts."""
    stops = [(workers, wanted.machines - workers) for workers in range(1, wanted.machines)]

    def measure(hosts: Hosts, out: Path) -> None:
        quotas = wanted.unequal_quotas()
        if out.stem == "types-even":
            run_walk(hosts, TYPES_CASE, stops, quotas, out)
        else:
            plan = _autotuned(TYPES_CASE, wanted.machines, _best_workers(wanted.machines))
            run_autotuned(hosts, plan, quotas, out)

    names = ("types-even.jsonl", "types-auto.jsonl")
    _each(wanted.missing(names), wanted.unequal_hosts, measure)


def opportunistic(wanted: Wanted) -> None:
    """Half of the hosts come when the job is quiet, and go when it is quiet again."""
    half = wanted.machines // 2
    late = [f"m{number}" for number in range(half, wanted.machines)]

    def measure(hosts: Hosts, out: Path) -> None:
        hosts.tell("kill", *late)
        acts = [
            Act(f"{half} more hosts", partial(hosts.tell, "start", *late)),
            Act(f"{half} are reclaimed", partial(hosts.tell, "reclaim", *late, *NOTICE)),
        ]
        plan = _autotuned(
            OPPORTUNISTIC,
            wanted.machines,
            half // 2,
            servers=half // 2,
            phases=len(acts) + 1,
            machines_at_first=half,
            checkpoint_every=5,
        )
        run_autotuned(hosts, plan, OPPORTUNISTIC.quotas, out, acts)

    _each(wanted.missing(["opportunistic.jsonl"]), wanted.equal_hosts, measure)


def link(wanted: Wanted) -> None:
    """Half of an executor's data blocks, then of its model blocks, back and forth."""
    shape = ("--machines", "4", "--bandwidth", MOVES_BANDWIDTH)
    _each(wanted.missing(["link.jsonl"]), partial(hosts_up, wanted.bed, *shape), run_link)


def _best_workers(machines: int) -> int:
    """On equal hosts: as in the grid, or where it usually is."""
    grid = FOLDER / f"grid-{TYPES_CASE.app}.jsonl"
    if not grid.exists():
        return machines // 2 + 1
    return Grid.of(visits_of(read_events(grid))).best[0]


def _autotuned(case: Case, machines: int, workers: int, **more: Any) -> AutotunedRun:
    roles = {"workers": workers, "servers": machines - workers, **more}
    settings, quiet = dict(case.settings), case.quiet_epochs
    return AutotunedRun(case.app, case.data, settings, machines, quiet_epochs=quiet, **roles)


PARTS: dict[str, Callable[[Wanted], None]] = {
    "grid": grid,
    "cruise": cruise,
    "types": types,
    "opportunistic": opportunistic,
    "link": link,
}


def main() -> None:
    """The parts that were asked for, one after another."""
    chosen = _arguments()
    unwind_when_terminated()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if chosen.report:
        write_report(FOLDER)
        return
    wanted = Wanted(chosen.apps, chosen.hosts, chosen.name, chosen.again)
    for name in chosen.only or PARTS:
        began_s = time.monotonic()
        print(f"== {name}", flush=True)
        try:
            PARTS[name](wanted)
        except CommandFailed as failure:
            print(f"FAILED {name}: {failure}", flush=True)
        print(f"== {name}: {time.monotonic() - began_s:.0f} s", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(PARTS), help="repeatable")
    parser.add_argument("--apps", type=_names, default=list(CASES), metavar="A,B")
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--name", default="cruise", help="of the testbed")
    parser.add_argument("--again", action="store_true", help="also what has its file already")
    parser.add_argument("--report", action="store_true", help="tables and figures, nothing else")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(CASES):
        raise argparse.ArgumentTypeError(f"{sorted(unknown)}: there are {', '.join(CASES)}")
    return names


def _each(
    missing: Sequence[Path],
    up: Callable[[], AbstractContextManager[Hosts]],
    measure: Callable[[Hosts, Path], None],
) -> None:
    """Measure on one testbed; where something failed, the next one gets a new one."""
    left = list(missing)
    while left:
        with up() as hosts:
            while left and _is_measured(measure, hosts, left.pop(0)):
                pass


def _is_measured(measure: Callable[[Hosts, Path], None], hosts: Hosts, out: Path) -> bool:
    began_s = time.monotonic()
    try:
        measure(hosts, out)
    except CommandFailed as failure:
        print(f"{out.name}: FAILED: {failure}", flush=True)
        return False
    print(f"{out.name}: {time.monotonic() - began_s:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    main()
