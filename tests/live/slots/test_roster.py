"""Processes of an elastic gang join and leave; the first one stays."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from motet.domain.snapshot import Placement
from motet.live.slots.roster import Roster

slots = st.dictionaries(st.integers(0, 3), st.integers(1, 3), min_size=1, max_size=4)


def placed(held: dict[int, int]) -> Placement:
    return Placement(tuple(sorted(held)), tuple(held[machine] for machine in sorted(held)))


def present(roster: Roster) -> dict[int, int]:
    """Ranks that have not been dismissed, with their machines."""
    ranks = enumerate(roster.machines)
    return {rank: machine for rank, machine in ranks if rank not in roster.dismissed}


def test_further_processes_get_ranks_that_nobody_had() -> None:
    smaller = Roster.of(placed({0: 2, 1: 1})).resized(placed({0: 2}))
    assert smaller is not None
    assert (smaller.machines, smaller.first, smaller.dismissed) == ((0, 0, 1), 3, (2,))
    larger = smaller.resized(placed({0: 2, 1: 2}))
    assert larger is not None
    assert (larger.machines, larger.joined, larger.dismissed) == ((0, 0, 1, 1, 1), 2, (2,))


def test_a_gang_whose_first_process_would_leave_cannot_be_resized() -> None:
    assert Roster.of(placed({0: 1, 1: 1})).resized(placed({1: 2})) is None


@given(slots, st.lists(slots, min_size=1, max_size=5))
def test_every_slot_has_a_process_and_those_that_can_stay_do(
    first: dict[int, int], later: list[dict[int, int]]
) -> None:
    roster = Roster.of(placed(first))
    for held in later:
        before, changed = present(roster), roster.resized(placed(held))
        if changed is None:
            assert roster.machines[0] not in held
            continue
        after = present(changed)
        assert Counter(after.values()) == Counter(held)
        stayed = Counter(before[rank] for rank in before.keys() & after.keys())
        assert stayed == Counter(before.values()) & Counter(held)
        assert 0 in after
        assert changed.machines[: len(roster.machines)] == roster.machines
        roster = changed
