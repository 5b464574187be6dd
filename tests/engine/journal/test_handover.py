"""Whose GPUs a resized job got, and who got its own."""

from __future__ import annotations

from motet.domain.actions import Migrate, Preempt, Start
from motet.domain.log_entry import NO_JOBS, OtherJobs
from motet.domain.snapshot import Placement
from motet.engine.journal.handover import Handover


def on(gpus: int) -> Placement:
    return Placement((0,), (gpus,))


def began(job: int, workers: int, servers: int = 0) -> Start:
    return Start(job, on(workers + servers), workers, servers)


def test_gpus_go_from_those_that_have_fewer_to_those_that_have_more() -> None:
    before = {1: began(1, 4), 2: began(2, 3), 3: began(3, 1), 4: began(4, 1, 1)}
    shrinks, grows = Migrate(1, on(2), 2, 0), Migrate(3, on(6), 6, 0)
    divides, starts = Migrate(4, on(2), 2, 0), Start(5, on(1), 1, 0)
    handover = Handover([Preempt(2), shrinks, grows, divides, starts], before, [(9, 2)])

    assert handover.exchanged_with(1) == OtherJobs(((3, 5), (5, 1)), 2)
    assert handover.exchanged_with(3) == OtherJobs(((9, 2), (2, 3), (1, 2)), 3)
    assert handover.exchanged_with(4) == NO_JOBS


def test_who_has_fewer_than_before_took_nothing_from_a_preempted_job() -> None:
    before = {1: began(1, 4), 2: began(2, 3), 3: began(3, 1), 4: began(4, 2)}
    shrinks, grows = Migrate(1, on(2), 2, 0), Migrate(3, on(6), 6, 0)
    moves = Migrate(4, Placement((1,), (2,)), 2, 0)
    handover = Handover([Preempt(2), shrinks, grows, moves], before, [])

    assert handover.takers_of(Placement((0,), (3,))) == OtherJobs(((3, 5),), 1)
    assert handover.takers_of(Placement((7,), (3,))) == OtherJobs(((3, 5), (4, 2)), 2)
