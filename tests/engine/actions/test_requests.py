"""Slots stay held until the processes that have them are gone."""

from __future__ import annotations

import pytest

from motet.domain.actions import Migrate, Preempt, Start
from motet.domain.snapshot import Placement
from motet.engine.actions.requests import Requests


def on(machine: int, gpus: int = 4) -> Placement:
    return Placement((machine,), (gpus,))


def start(job: int, placement: Placement) -> Start:
    return Start(job, placement, sum(placement.counts), 0)


def migrate(job: int, placement: Placement) -> Migrate:
    return Migrate(job, placement, sum(placement.counts), 0)


def with_running(*jobs: tuple[int, Placement], gpus: tuple[int, ...] = (4, 4)) -> Requests:
    requests = Requests(gpus)
    for job, placement in jobs:
        requests.start(start(job, placement), ())
    requests.take()
    return requests


def test_a_start_on_free_slots_is_handed_out_at_once() -> None:
    requests = Requests((4,))
    requests.start(start(1, on(0)), ())
    assert requests.take() == [start(1, on(0))]
    assert requests.are_settled


def test_a_start_waits_until_the_job_before_it_has_stopped() -> None:
    requests = with_running((1, on(0)))
    requests.stop(1)
    requests.start(start(2, on(0)), ())
    assert requests.take() == [Preempt(1)]
    assert requests.take() == []
    assert requests.stopped(1)
    assert requests.take() == [start(2, on(0))]


def test_slots_of_the_same_machine_that_are_free_are_used_meanwhile() -> None:
    requests = with_running((1, on(0, 2)))
    requests.stop(1)
    requests.start(start(2, on(0, 2)), ())
    requests.start(start(3, on(0, 2)), ())
    assert requests.take() == [Preempt(1), start(2, on(0, 2))]
    requests.stopped(1)
    assert requests.take() == [start(3, on(0, 2))]


def test_a_start_that_was_never_handed_out_is_not_preempted() -> None:
    requests = with_running((1, on(0)))
    requests.stop(1)
    requests.start(start(2, on(0)), ())
    requests.take()
    requests.stop(2)
    requests.stopped(1)
    assert requests.take() == []
    assert requests.are_settled


def test_a_job_that_stops_can_start_again_once_it_has_stopped() -> None:
    requests = with_running((1, on(0)))
    requests.stop(1)
    requests.take()
    requests.start(start(1, on(1)), ())
    assert requests.take() == []
    requests.stopped(1)
    assert requests.take() == [start(1, on(1))]


def test_a_job_grows_into_slots_beside_its_own() -> None:
    requests = with_running((1, on(0, 2)))
    requests.start(migrate(1, on(0, 4)), ())
    assert requests.take() == [migrate(1, on(0, 4))]
    requests.resized(1)
    assert requests.are_settled
    requests.stop(1)
    requests.start(start(2, on(0, 4)), ())
    requests.take()
    requests.stopped(1)
    assert requests.take() == [start(2, on(0, 4))]


def test_what_a_smaller_job_gives_up_is_free_once_it_was_resized() -> None:
    requests = with_running((1, on(0, 4)))
    requests.start(migrate(1, on(0, 2)), ())
    requests.start(start(2, on(0, 2)), ())
    assert requests.take() == [migrate(1, on(0, 2))]
    requests.resized(1)
    assert requests.take() == [start(2, on(0, 2))]


def test_of_jobs_that_exchange_their_places_one_stops_on_the_way() -> None:
    requests = with_running((1, on(0)), (2, on(1)))
    requests.start(migrate(1, on(1)), ())
    requests.start(migrate(2, on(0)), ())
    assert requests.take() == [Preempt(1)]
    requests.stopped(1)
    assert requests.take() == [migrate(2, on(0))]
    requests.resized(2)
    assert requests.take() == [start(1, on(1))]
    assert requests.are_settled


def test_of_groups_that_exchange_their_machines_all_of_one_stop_on_the_way() -> None:
    """The slots of a group are free when its last job has stopped."""
    requests = with_running((1, on(0)), (3, on(1)))
    for job, machine, partner in ((2, 0, 1), (4, 1, 3)):
        requests.start(start(job, on(machine)), (partner,))
    assert requests.take() == [start(2, on(0)), start(4, on(1))]
    for job, machine, partner in ((1, 1, 2), (2, 1, 1), (3, 0, 4), (4, 0, 3)):
        requests.start(migrate(job, on(machine)), (partner,))
    for job in (1, 2):
        assert requests.take() == [Preempt(job)]
        requests.stopped(job)
    assert requests.take() == [migrate(3, on(0)), migrate(4, on(0))]
    requests.resized(3)
    assert requests.take() == []
    requests.resized(4)
    assert requests.take() == [start(1, on(1)), start(2, on(1))]
    assert requests.are_settled


def test_partners_share_slots_and_the_last_one_frees_them() -> None:
    requests = with_running((1, on(0)), gpus=(4,))
    requests.start(start(2, on(0)), (1,))
    assert requests.take() == [start(2, on(0))]
    requests.start(start(3, on(0)), ())
    requests.stop(1)
    assert requests.take() == [Preempt(1)]
    requests.stopped(1)
    requests.stop(2)
    assert requests.take() == [Preempt(2)]
    requests.stopped(2)
    assert requests.take() == [start(3, on(0))]


def test_partners_that_go_on_where_they_are_keep_their_slots() -> None:
    requests = with_running((1, on(0)), gpus=(4,))
    requests.start(start(2, on(0)), (1,))
    requests.take()
    requests.start(migrate(1, on(0)), (2,))
    requests.start(migrate(2, on(0)), (1,))
    assert requests.take() == [migrate(1, on(0)), migrate(2, on(0))]
    requests.resized(1)
    requests.resized(2)
    requests.start(start(3, on(0)), ())
    requests.stop(1)
    requests.stop(2)
    requests.take()
    requests.stopped(1)
    assert requests.take() == []
    requests.stopped(2)
    assert requests.take() == [start(3, on(0))]


def test_a_stop_that_was_reported_with_its_cause_is_not_asked_for() -> None:
    requests = with_running((1, on(0)))
    requests.stop(1)
    assert requests.stopped(1)
    assert requests.take() == []


def test_a_job_that_stops_by_itself_did_not_stop_by_request() -> None:
    requests = with_running((1, on(0)))
    assert not requests.stopped(1)
    assert requests.stopped(7)


def test_a_job_that_is_gone_gets_no_slots_any_more() -> None:
    requests = with_running((1, on(0)), (2, on(1)))
    requests.stop(2)
    requests.start(migrate(1, on(1)), ())
    assert requests.take() == [Preempt(2)]
    requests.gone(1)
    requests.stopped(2)
    assert requests.take() == []
    assert requests.are_settled


def test_a_job_that_stops_by_itself_does_not_move_any_more() -> None:
    requests = with_running((1, on(0)), (2, on(1)))
    requests.stop(2)
    requests.start(migrate(1, on(1)), ())
    requests.take()
    assert not requests.stopped(1)
    requests.stopped(2)
    assert requests.take() == []


def test_an_action_that_no_stop_can_make_room_for_is_an_error() -> None:
    requests = Requests((4,))
    requests.start(start(1, on(0, 8)), ())
    with pytest.raises(RuntimeError, match=r"neither free nor about to be: \{1: .*\[4\]"):
        requests.take()


def test_a_job_that_comes_to_a_partner_frees_slots_that_look_the_same() -> None:
    requests = with_running((1, on(0, 2)), (2, on(0, 2)), gpus=(4,))
    requests.start(migrate(2, on(0, 2)), (1,))
    requests.start(start(3, on(0, 2)), ())
    assert requests.take() == [migrate(2, on(0, 2))]
    requests.resized(2)
    assert requests.take() == [start(3, on(0, 2))]


def test_a_job_that_leaves_a_partner_needs_slots_of_its_own() -> None:
    requests = with_running((1, on(0, 2)), gpus=(4,))
    requests.start(start(2, on(0, 2)), (1,))
    requests.start(start(3, on(0, 2)), ())
    requests.take()
    requests.stop(3)
    requests.start(migrate(2, on(0, 2)), ())
    assert requests.take() == [Preempt(3)]
    requests.stopped(3)
    assert requests.take() == [migrate(2, on(0, 2))]


def test_of_two_partners_that_wait_the_second_joins_the_first_whichever_that_is() -> None:
    requests = with_running((1, on(0, 2)), (3, on(0, 2)), gpus=(4,))
    requests.stop(1)
    requests.start(start(2, on(0, 4)), (3,))
    requests.start(migrate(3, on(0, 4)), (2,))
    assert requests.take() == [Preempt(1)]
    requests.stopped(1)
    assert requests.take() == [migrate(3, on(0, 4))]
    requests.resized(3)
    assert requests.take() == [start(2, on(0, 4))]


def test_a_job_that_joins_a_waiting_group_where_it_is_takes_the_group_in() -> None:
    """Job 1 waits for slots that job 2 had and keeps: a later decision puts both in one group."""
    requests = with_running((2, on(0, 2)), (3, on(0, 2)), gpus=(4, 2))
    requests.stop(3)
    requests.start(start(1, on(0, 2)), (4,))
    assert requests.take() == [Preempt(3)]
    requests.start(migrate(2, on(0, 2)), (1,))
    assert requests.take() == [start(1, on(0, 2)), migrate(2, on(0, 2))]


def test_a_waiting_job_does_not_follow_a_partner_that_has_left_its_group() -> None:
    """Job 2 gets slots of its own on the machine of which job 1 waits for others."""
    requests = with_running((3, on(0, 2)), (4, on(0, 2)), gpus=(4, 2))
    requests.stop(3)
    requests.stop(4)
    requests.start(start(2, on(0, 2)), (1,))
    requests.start(start(1, on(0, 2)), (2,))
    assert requests.take() == [Preempt(3), Preempt(4)]
    requests.start(start(2, on(0, 2)), ())
    requests.stopped(3)
    assert requests.take() == [start(2, on(0, 2))]
    requests.stopped(4)
    assert requests.take() == [start(1, on(0, 2))]


def with_pair_of_which_one_goes_on_alone() -> Requests:
    """Job 1 waits until job 2 leaves the slots that they share; job 3 is being stopped."""
    requests = with_running((1, on(0)), (3, on(1)))
    requests.start(start(2, on(0)), (1,))
    requests.take()
    requests.stop(3)
    requests.start(migrate(1, on(0)), ())
    assert requests.take() == [Preempt(3)]
    return requests


def test_a_job_goes_on_alone_once_its_partner_is_stopped() -> None:
    requests = with_pair_of_which_one_goes_on_alone()
    requests.stop(2)
    assert requests.take() == [Preempt(2), migrate(1, on(0))]


def test_a_job_goes_on_alone_once_its_partner_waits_for_other_slots() -> None:
    requests = with_pair_of_which_one_goes_on_alone()
    requests.start(migrate(2, on(1)), ())
    assert requests.take() == [migrate(1, on(0))]


def test_a_job_moves_on_once_it_has_left_the_slots_before() -> None:
    requests = with_running((1, on(0)), gpus=(4, 4, 4))
    requests.start(migrate(1, on(1)), ())
    assert requests.take() == [migrate(1, on(1))]
    requests.start(migrate(1, on(2)), ())
    assert requests.take() == []
    requests.resized(1)
    assert requests.take() == [migrate(1, on(2))]


@pytest.mark.parametrize("is_replayed", [False, True])
def test_a_job_that_starts_again_in_place_does_so_once_at_a_time(is_replayed: bool) -> None:
    requests = with_running((1, on(0)))
    switched = migrate(1, on(0))._replace(asynchronous=True)
    requests.start(switched, ())
    if is_replayed:
        requests.issue([switched])
    else:
        assert requests.take() == [switched]
    requests.start(migrate(1, on(0)), ())
    assert requests.take() == []
    assert not requests.are_settled
    requests.resized(1)
    assert requests.take() == [migrate(1, on(0))]
    requests.resized(1)
    assert requests.are_settled


def test_partners_that_start_again_in_place_do_so_once_at_a_time() -> None:
    requests = with_running((1, on(0)))
    requests.start(start(2, on(0)), (1,))
    requests.take()
    for _ in range(2):
        requests.start(migrate(1, on(0)), (2,))
        assert requests.take() == [migrate(1, on(0))]
        requests.start(migrate(1, on(0)), (2,))
        assert requests.take() == []
        requests.resized(1)
        assert requests.take() == [migrate(1, on(0))]
        requests.resized(1)


def test_a_job_that_starts_again_in_place_can_be_stopped_on_the_way() -> None:
    requests = with_running((1, on(0)), gpus=(4,))
    requests.start(migrate(1, on(0))._replace(asynchronous=True), ())
    requests.take()
    requests.stop(1)
    requests.start(start(2, on(0)), ())
    assert requests.take() == [Preempt(1)]
    requests.stopped(1)
    assert requests.take() == [start(2, on(0))]
    assert requests.are_settled


def test_another_engine_goes_on_with_the_requests_that_are_not_done() -> None:
    requests = with_running((1, on(0)))
    requests.stop(1)
    requests.take()
    requests.start(start(2, on(0)), ())
    assert requests.take() == []

    others = Requests((4, 4))
    others.adopt(2, on(0), ())  # Slots are those of the jobs that get them.
    others.continue_with(requests.pending)
    assert others.take() == []
    assert others.stopped(1)
    assert others.take() == [start(2, on(0))]
    assert others.are_settled


def test_what_is_kept_does_not_grow_with_the_jobs_that_have_shared_slots() -> None:
    requests = with_running((1, on(0)))
    requests.start(start(2, on(0)), ())  # Always waits.
    for job in range(10, 2010, 2):
        requests.start(start(job, on(1)), ())
        requests.start(start(job + 1, on(1)), (job,))
        assert len(requests.take()) == 2
        requests.gone(job)
        requests.gone(job + 1)
    assert len(requests._named_by) < 1000
