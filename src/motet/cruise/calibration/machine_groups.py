"""Groups of machines of equal speed: kinds of machines, split by measurements.

A machine whose COMP differs persistently from that of its kind forms a separate group: a slow host
gets a smaller share of the data, or serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from motet.cruise.calibration.averages import Average

UNLIKE = 1.25
"""Slowdown factor from which a machine belongs to another group."""
_STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class CandidateMachine:
    """A machine available to the job. `is_leaving`: it was reclaimed and will leave."""

    number: int
    kind: str = "machine"
    is_leaving: bool = False


@dataclass(frozen=True)
class MachineGroup:
    """Machines of equal speed, in their order; `kind`: common to all of them."""

    name: str
    kind: str
    machines: tuple[int, ...]


def group_machines(
    machines: Iterable[CandidateMachine], comp_s: Mapping[int, Average]
) -> tuple[MachineGroup, ...]:
    """Kinds in the order of their first machines, each followed by its groups of other speeds.

    `comp_s`: COMP per instance of machines with measurements. A machine without measurements
    belongs to the largest group of its kind.
    """
    kinds: dict[str, list[int]] = {}
    for machine in machines:
        kinds.setdefault(machine.kind, []).append(machine.number)
    return tuple(group for kind, same in kinds.items() for group in _split(kind, same, comp_s))


def _split(kind: str, machines: Sequence[int], comp_s: Mapping[int, Average]) -> list[MachineGroup]:
    measured = sorted((m for m in machines if m in comp_s), key=lambda m: comp_s[m].mean)
    by_speed = _by_speed(measured, comp_s)
    if len(by_speed) < 2:
        return [MachineGroup(kind, kind, tuple(machines))]
    usual = max(by_speed, key=len)
    usual_s = _mean_s(usual, comp_s)
    others = []
    for group in (group for group in by_speed if group is not usual):
        speed = usual_s / _mean_s(group, comp_s)
        members = tuple(m for m in machines if m in group)
        others.append(MachineGroup(f"{kind} ×{speed:.2g}", kind, members))
    unusual = {machine for group in others for machine in group.machines}
    members = tuple(m for m in machines if m not in unusual)
    return [MachineGroup(kind, kind, members), *others]


def _by_speed(measured: Sequence[int], comp_s: Mapping[int, Average]) -> list[list[int]]:
    """Machines in order of speed; every significant gap starts a new list."""
    groups = [list(measured[:1])]
    for faster, slower in pairwise(measured):
        if _is_unlike(comp_s[faster], comp_s[slower]):
            groups.append([])
        groups[-1].append(slower)
    return groups


def _is_unlike(faster: Average, slower: Average) -> bool:
    if slower.mean <= UNLIKE * faster.mean:
        return False
    noise_s = _STANDARD_ERRORS * float(np.hypot(faster.standard_error, slower.standard_error))
    return slower.mean - faster.mean > noise_s


def _mean_s(machines: Sequence[int], comp_s: Mapping[int, Average]) -> float:
    return float(np.mean([comp_s[machine].mean for machine in machines]))
