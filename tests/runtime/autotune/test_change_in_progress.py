"""Which notices a change overlooks."""

from __future__ import annotations

import pytest

from motet.domain.reconfiguration import Add, Delete, Move, Plan
from motet.runtime.autotune.change_in_progress import ChangeInProgress

KNOWN, STAYING, NEW, UNUSED, EMPTIED = range(5)
PLAN = Plan.of([Add(NEW, "worker"), Move("data", (0,), KNOWN, NEW), Delete(EMPTIED)])


@pytest.mark.parametrize(
    ("leaving", "is_overlooked"),
    [
        ({KNOWN}, False),
        ({KNOWN, STAYING}, True),
        ({KNOWN, NEW}, True),
        ({KNOWN, UNUSED}, False),
        ({KNOWN, EMPTIED}, False),
    ],
    ids=["known before", "has an executor", "gets an executor", "unused", "is left anyway"],
)
def test_a_change_overlooks_machines_that_it_uses_and_does_not_leave(
    leaving: set[int], is_overlooked: bool
) -> None:
    change = ChangeInProgress(0, PLAN, None, frozenset({KNOWN}))
    assert change.overlooks(leaving, {KNOWN, STAYING, EMPTIED}) is is_overlooked


def test_an_executor_that_only_gives_up_a_role_stays() -> None:
    plan = Plan.of([Delete(EMPTIED, "server")])
    change = ChangeInProgress(0, plan, None, frozenset())
    assert change.overlooks({EMPTIED}, {EMPTIED})


def test_the_destination_of_a_move_is_used() -> None:
    change = ChangeInProgress(0, Plan.of([Move("data", (0,), KNOWN, NEW)]), None, frozenset())
    assert change.overlooks({NEW}, {KNOWN})
