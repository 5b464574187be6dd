"""Jobs on a testbed, each with a file of what happened."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from support.autotuned import QUIET, AutotunedRun
from support.evidence import Shape
from support.hosts import Hosts, Line
from support.recorder import append_event
from support.testbed_cases import HURRIED_CPUS, Case
from support.walk import MOVING, TRAINING, WalkPlan

Quotas = Mapping[str, Sequence[str]]
"""Hosts by CPUs."""


@dataclass(frozen=True)
class Act:
    """What is done to the hosts while a job trains. `name`: for people."""

    name: str
    do: Callable[[], None]


def run_walk(
    hosts: Hosts,
    case: Case,
    stops: Sequence[Shape],
    cpus: Quotas,
    out: Path,
) -> None:
    """Take a job through configurations; see `walk.py`. Raises CommandFailed.

    Starts and moves are hurried with more CPUs: only what comes after them counts.
    """
    machines = sum(stops[0])
    settings = dict(case.settings)
    plan = WalkPlan(case.app, case.data, settings, machines, list(stops), case.warm_up_epochs)

    def heard(line: Line) -> None:
        if line.text == MOVING:
            hosts.give_cpus(HURRIED_CPUS)
        elif line.text == TRAINING:
            hosts.give_cpus(cpus)

    hosts.give_cpus(HURRIED_CPUS)
    _run(hosts, "support.walk", [json.dumps(asdict(plan))], out, heard)


def run_autotuned(
    hosts: Hosts,
    run: AutotunedRun,
    cpus: Quotas,
    out: Path,
    acts: Sequence[Act] = (),
) -> None:
    """Train a job under `--auto`; see `autotuned.py`. Raises CommandFailed.

    Only the start is hurried. `acts`: what is done to the hosts whenever the job is quiet; then
    they keep their quotas.
    """
    left = list(acts)

    def heard(line: Line) -> None:
        if line.text == TRAINING and not acts:
            hosts.give_cpus(cpus)
        elif line.text == QUIET:
            act = left.pop(0)
            append_event(part_of(out), "mark", text=act.name)
            act.do()

    if not acts:
        hosts.give_cpus(HURRIED_CPUS)
    _run(hosts, "support.autotuned", [json.dumps(asdict(run))], out, heard)


def run_link(hosts: Hosts, out: Path) -> None:
    """Moves over a link while a job trains; see `link_moves.py`. Raises CommandFailed."""
    _run(hosts, "support.link_moves", [], out, lambda line: None)


def part_of(out: Path) -> Path:
    """Where events go until all of them are there; what is left of a run that failed."""
    return out.with_suffix(".part")


def _run(
    hosts: Hosts, module: str, words: Sequence[str], out: Path, heard: Callable[[Line], None]
) -> None:
    part_of(out).unlink(missing_ok=True)
    command = [sys.executable, "-m", module, *words, str(part_of(out))]
    hosts.run(command, timeout_s=900, heard=heard)
    part_of(out).rename(out)
