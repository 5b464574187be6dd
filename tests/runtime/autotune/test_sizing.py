"""When a job asks for another number of machines."""

from __future__ import annotations

from dataclasses import replace

from motet.cruise.decision import SizeProposal, TuningDecision, TuningReason
from motet.cruise.size_proposal import SizeBounds
from motet.domain.reconfiguration import RoleCounts
from motet.runtime.autotune.instructions import ProposeSize
from motet.runtime.autotune.sizing import SizeWishes, Sizing

PRESENT, LARGER, LARGEST = RoleCounts(1, 1), RoleCounts(3, 1), RoleCounts(4, 2)
SIZING = Sizing(SizeBounds(PRESENT, LARGEST), PRESENT, None, 10.0, lambda wish: None)
KEEP = TuningDecision(TuningReason.TOO_LITTLE_GAIN, PRESENT, PRESENT, 2, 8.0, 8.0)


def wants(roles: RoleCounts, then_s: float = 4.0) -> TuningDecision:
    return replace(KEEP, proposal=SizeProposal(roles, 2, now_s=8.0, then_s=then_s))


def asked(sizing: Sizing, *decisions: TuningDecision, epochs_done: int = 0) -> list[ProposeSize]:
    wishes = SizeWishes(sizing)
    return [wish for each in decisions for wish in wishes.decided(each, epochs_done)]


def test_two_decisions_in_a_row_have_to_agree() -> None:
    assert asked(SIZING, wants(LARGER), wants(LARGEST), wants(LARGER)) == []
    assert asked(SIZING, wants(LARGER), wants(LARGER)) == [ProposeSize(LARGER, 0.5)]


def test_a_proposal_is_made_once_and_withdrawn_when_it_no_longer_holds() -> None:
    told = asked(SIZING, *[wants(LARGER)] * 4, KEEP, KEEP, KEEP)
    assert told == [ProposeSize(LARGER, 0.5), ProposeSize(PRESENT, 0.0)]


def test_a_larger_size_that_gains_about_as_much_replaces_no_proposal() -> None:
    first, alike, better = wants(LARGER), wants(LARGEST, 3.7), wants(LARGEST, 3.5)
    assert asked(SIZING, first, first, alike, alike) == [ProposeSize(LARGER, 0.5)]
    assert asked(SIZING, first, first, better, better)[1:] == [ProposeSize(LARGEST, 0.5625)]
    smaller = wants(LARGER, 4.2)
    assert asked(SIZING, alike, alike, smaller, smaller)[1:] == [ProposeSize(LARGER, 0.475)]


def test_a_job_that_changes_its_roles_asks_for_nothing_meanwhile() -> None:
    change = replace(wants(LARGER), reason=TuningReason.GAIN)
    assert asked(SIZING, wants(LARGER), change, wants(LARGER)) == []


def test_a_job_near_its_end_asks_for_nothing() -> None:
    planned = replace(SIZING, planned_epochs=10)
    assert asked(planned, *[wants(LARGER)] * 3, epochs_done=8) == []
    assert asked(planned, *[wants(LARGER)] * 3, epochs_done=7) == [ProposeSize(LARGER, 0.5)]
