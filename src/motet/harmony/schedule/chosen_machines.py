"""Which machines each group gets, so that few jobs move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from motet.harmony.problem import JobGroup
from motet.harmony.schedule.held_groups import HeldGroup

MachineSet = tuple[int, ...]


def chosen_machines(
    groups: Sequence[JobGroup], held: Sequence[HeldGroup], machines: Sequence[int]
) -> list[MachineSet]:
    """The machines of each group, ascending; `machines` are at least as many as all need.

    A group keeps the machines of the held group from which most of its jobs come. Where several
    groups want the same, the one for which they are exactly enough comes first, then the one with
    more of these jobs.
    """
    free = set(machines)
    found: dict[int, list[int]] = {}
    for _, place, source in sorted(_wishes(groups, held)):
        if place not in found and free.issuperset(held[source].machines):
            kept = held[source].machines[: groups[place].machines]
            found[place] = list(kept)
            free.difference_update(kept)
    left = sorted(free)
    for place, group in enumerate(groups):
        kept_too = found.setdefault(place, [])
        missing = group.machines - len(kept_too)
        kept_too += left[:missing]
        left = left[missing:]
    return [tuple(sorted(found[place])) for place in range(len(groups))]


def _wishes(
    groups: Sequence[JobGroup], held: Sequence[HeldGroup]
) -> list[tuple[tuple[bool, int, int], int, int]]:
    """(rank, group, held group) for every pair with a common job."""
    source_of = {job: place for place, group in enumerate(held) for job in group.jobs}
    wishes = []
    for place, group in enumerate(groups):
        sources = Counter(source_of[job] for job in group.jobs if job in source_of)
        for source, count in sources.items():
            is_other_size = len(held[source].machines) != group.machines
            wishes.append(((is_other_size, -count, place), place, source))
    return wishes
