"""Reports in, instructions out: who is answered at once, and which epoch is evaluated."""

from __future__ import annotations

from typing import Any

from motet.runtime.controller.event_inbox import WorkerReport
from motet.runtime.controller.generation.epoch_barrier import (
    AnswerWorker,
    EndEpoch,
    EpochBarrier,
    EpochInstruction,
)
from motet.runtime.core.consistency import Async, Ssp
from motet.runtime.core.options import StopRule, TrainOptions
from worker_reports import report


def barrier(
    workers: tuple[int, ...] = (0, 1), first_epoch: int = 0, **options: Any
) -> EpochBarrier:
    fields = {"machines": 3, "workers": 2, "servers": 1, "epochs": 10, **options}
    return EpochBarrier(TrainOptions(**fields), first_epoch, lambda epoch: workers)


def made(rank: int, epoch: int) -> WorkerReport:
    return report(rank, epoch)[0]


def told(instructions: list[EpochInstruction] | list[AnswerWorker]) -> list[Any]:
    """Instructions as nested tuples: who is answered what; which reports end an epoch."""
    found: list[Any] = []
    for each in instructions:
        if isinstance(each, EndEpoch):
            found.append(("end", each.epoch, [it.done.rank for it in each.reports]))
        else:
            found.append((each.report.done.rank, each.report.done.epoch, each.directive))
    return found


def test_under_bsp_workers_are_answered_after_the_evaluation() -> None:
    bsp = barrier()
    assert told(bsp.report(made(1, 0))) == []
    (ended,) = bsp.report(made(0, 0))
    assert told([ended]) == [("end", 0, [0, 1])]
    assert isinstance(ended, EndEpoch)
    assert told(bsp.evaluated(ended, is_last=False)) == [(0, 0, "continue"), (1, 0, "continue")]


def test_after_the_last_epoch_workers_are_told_to_stop() -> None:
    bsp = barrier()
    bsp.report(made(0, 9))
    (ended,) = bsp.report(made(1, 9))
    assert isinstance(ended, EndEpoch)
    assert told(bsp.evaluated(ended, is_last=True)) == [(0, 9, "stop"), (1, 9, "stop")]


def test_a_report_that_is_sent_again_takes_the_place_of_the_first() -> None:
    bsp = barrier()
    bsp.report(made(0, 0))
    again = made(0, 0)
    assert told(bsp.report(again)) == []
    (ended,) = bsp.report(made(1, 0))
    assert isinstance(ended, EndEpoch)
    assert ended.reports[0] is again


def test_a_report_of_an_epoch_that_has_ended_is_answered_at_once() -> None:
    bsp = barrier(first_epoch=4)
    assert told(bsp.report(made(0, 3))) == [(0, 3, "continue")]
    bsp.report(made(0, 4))
    bsp.report(made(1, 4))
    assert told(bsp.report(made(1, 4))) == [(1, 4, "continue")]


def test_under_looser_consistency_workers_go_on_at_once() -> None:
    ssp = barrier(consistency=Ssp(2), checkpoint_every=3)
    assert told(ssp.report(made(0, 0))) == [(0, 0, "continue")]
    assert told(ssp.report(made(0, 1))) == [(0, 1, "continue")]
    (answer, ended) = ssp.report(made(1, 0))
    assert told([answer, ended]) == [(1, 0, "continue"), ("end", 0, [0, 1])]
    assert isinstance(ended, EndEpoch)
    assert told(ssp.evaluated(ended, is_last=False)) == []


def test_all_wait_at_an_epoch_with_a_checkpoint_and_at_the_last_one() -> None:
    loose = barrier(consistency=Async(), checkpoint_every=3)
    waiting = [epoch for epoch in range(10) if loose.is_rendezvous(epoch)]
    assert waiting == [2, 5, 8, 9]
    for epoch in waiting:
        assert told(loose.report(made(0, epoch))) == []


def test_all_wait_at_every_epoch_of_a_job_that_may_stop_early() -> None:
    loose = barrier(consistency=Async(), until=StopRule("loss", 1.0))
    assert all(loose.is_rendezvous(epoch) for epoch in range(10))


def test_an_epoch_ends_without_workers_that_left_before_its_end() -> None:
    bsp = barrier(workers=(1, 2))
    bsp.report(made(0, 0))
    bsp.report(made(2, 0))
    assert told(bsp.report(made(1, 0))) == [("end", 0, [1, 2])]
