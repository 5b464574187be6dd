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
class Machine:
    """One that the job may use. `is_leaving`: it was reclaimed and will go."""

    name: str
    kind: str = "machine"
    is_leaving: bool = False


@dataclass(frozen=True)
class Alike:
    """Machines of one type, in their order; `kind`: of all of them."""

    name: str
    kind: str
    machines: tuple[str, ...]


def types_of(machines: Iterable[Machine], comp_s: Mapping[str, Average]) -> tuple[Alike, ...]:
    """Kinds in the order of their first machines, each with its unlike machines behind it.

    `comp_s`: COMP per instance of the machines that have worked; the others are like most.
    """
    kinds: dict[str, list[str]] = {}
    for machine in machines:
        kinds.setdefault(machine.kind, []).append(machine.name)
    return tuple(alike for kind, names in kinds.items() for alike in _split(kind, names, comp_s))


def _split(kind: str, names: Sequence[str], comp_s: Mapping[str, Average]) -> list[Alike]:
    known = sorted((name for name in names if name in comp_s), key=lambda n: comp_s[n].mean_s)
    groups = _groups(known, comp_s)
    if len(groups) < 2:
        return [Alike(kind, kind, tuple(names))]
    usual = max(groups, key=len)
    usual_s = _mean_s(usual, comp_s)
    split = []
    for group in (group for group in groups if group is not usual):
        speed = usual_s / _mean_s(group, comp_s)
        members = tuple(name for name in names if name in group)
        split.append(Alike(f"{kind} ×{speed:.2g}", kind, members))
    strange = {name for alike in split for name in alike.machines}
    return [Alike(kind, kind, tuple(n for n in names if n not in strange)), *split]


def _groups(known: Sequence[str], comp_s: Mapping[str, Average]) -> list[list[str]]:
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


def _mean_s(group: Sequence[str], comp_s: Mapping[str, Average]) -> float:
    return float(np.mean([comp_s[name].mean_s for name in group]))
