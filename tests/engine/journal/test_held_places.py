"""Placements by job, and jobs by placement."""

from __future__ import annotations

from motet.domain.log_entry import NOWHERE
from motet.domain.snapshot import Placement
from motet.engine.journal.held_places import HeldPlaces

FIRST, BOTH = Placement((0,), (1,)), Placement((0, 1), (1, 1))


def test_jobs_on_the_same_slots_are_together_until_one_moves() -> None:
    places = HeldPlaces()
    places[1] = places[2] = FIRST
    places[3] = BOTH
    assert places.together(1) == {1, 2}
    places[2] = BOTH
    assert (places.together(1), places.together(2)) == ({1}, {2, 3})
    assert sorted(places.on_machine(0)) == [1, 2, 3]
    assert sorted(places.on_machine(1)) == [2, 3]


def test_a_job_without_slots_is_nowhere_and_with_nobody() -> None:
    places = HeldPlaces()
    places[1] = FIRST
    assert places.pop(1) == FIRST
    assert (places.pop(1), places.of(1), places.together(1)) == (NOWHERE, NOWHERE, frozenset())
