"""Which machines are alike: those of a kind, unless measurements say otherwise.

A machine whose COMP takes persistently longer or shorter than that of the others of its kind is of
a type of its own: a host that was slowed down gets a smaller share of the data, or serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from motet.cruise.averages import Average

UNLIKE = 1.25
"""So many times as slow is another type."""
_STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class CandidateMachine:
    """One that the job may use. `is_leaving`: it was reclaimed and will go."""

    number: int
    kind: str = "machine"
    is_leaving: bool = False


@dataclass(frozen=True)
class Alike:
    """Machines of one type, in their order; `kind`: of all of them."""

    name: str
    kind: str
    machines: tuple[int, ...]


def types_of(
    machines: Iterable[CandidateMachine], comp_s: Mapping[int, Average]
) -> tuple[Alike, ...]:
    """Kinds in the order of their first machines, each with its unlike machines behind it.

    `comp_s`: COMP per instance of the machines that have worked; the others are like most.
    """
    kinds: dict[str, list[int]] = {}
    for machine in machines:
        kinds.setdefault(machine.kind, []).append(machine.number)
    return tuple(alike for kind, same in kinds.items() for alike in _split(kind, same, comp_s))


def _split(kind: str, machines: Sequence[int], comp_s: Mapping[int, Average]) -> list[Alike]:
    known = sorted((m for m in machines if m in comp_s), key=lambda m: comp_s[m].mean_s)
    groups = _groups(known, comp_s)
    if len(groups) < 2:
        return [Alike(kind, kind, tuple(machines))]
    usual = max(groups, key=len)
    usual_s = _mean_s(usual, comp_s)
    split = []
    for group in (group for group in groups if group is not usual):
        speed = usual_s / _mean_s(group, comp_s)
        members = tuple(m for m in machines if m in group)
        split.append(Alike(f"{kind} ×{speed:.2g}", kind, members))
    strange = {machine for alike in split for machine in alike.machines}
    return [Alike(kind, kind, tuple(m for m in machines if m not in strange)), *split]


def _groups(known: Sequence[int], comp_s: Mapping[int, Average]) -> list[list[int]]:
    """Neighbours by speed; a new group begins at every certain gap."""
    groups = [list(known[:1])]
    for faster, slower in pairwise(known):
        if _is_unlike(comp_s[faster], comp_s[slower]):
            groups.append([])
        groups[-1].append(slower)
    return groups


def _is_unlike(faster: Average, slower: Average) -> bool:
    if slower.mean_s <= UNLIKE * faster.mean_s:
        return False
    noise_s = _STANDARD_ERRORS * float(np.hypot(faster.error_s, slower.error_s))
    return slower.mean_s - faster.mean_s > noise_s


def _mean_s(group: Sequence[int], comp_s: Mapping[int, Average]) -> float:
    return float(np.mean([comp_s[machine].mean_s for machine in group]))
