"""Jobs under SSP whose model blocks move to an empty server while workers push."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from in_process_cluster import InProcessCluster
from motet.domain.reconfiguration import Move, Plan
from motet.runtime.client import routed_calls
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.consistency import Ssp
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.server.shard import Shard
from motet.runtime.wire.table_requests import PushHead, Target
from motet.transport import Request
from soak_cases import others_in_soak
from toy_app import ToyRegression

MACHINES, EPOCHS = 4, 12
SOURCE, EMPTY = 2, 3
TIMEOUT_S = 100


class MoveDuringPush:
    """Keeps the last chunks of an epoch at the source until a block has moved to the other server.

    The block leaves only after a worker has sent all its chunks, so the source has applied the
    first one and has not counted the last one.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, first_epoch: int) -> None:
        self._first_epoch = first_epoch
        self._is_pushing, self._has_moved = threading.Event(), threading.Event()
        self._push, self._hand_over, self._take_in = Shard.push, Shard.hand_over, Shard.take_in
        monkeypatch.setattr(Shard, "push", lambda *call: self.push(*call))
        monkeypatch.setattr(Shard, "hand_over", lambda *call: self.hand_over(*call))
        monkeypatch.setattr(Shard, "take_in", lambda *call: self.take_in(*call))

    def push(self, shard: Shard, request: Request, target: Target, head: PushHead) -> None:
        if head.is_last and head.step.epoch >= self._first_epoch and executor_of(shard) == SOURCE:
            self._is_pushing.set()
            assert self._has_moved.wait(TIMEOUT_S)
        self._push(shard, request, target, head)

    def hand_over(self, shard: Shard, *rest: Any) -> Any:
        if executor_of(shard) == SOURCE:
            assert self._is_pushing.wait(TIMEOUT_S)
        return self._hand_over(shard, *rest)

    def take_in(self, shard: Shard, *rest: Any) -> None:
        self._take_in(shard, *rest)
        if executor_of(shard) == EMPTY:
            self._has_moved.set()


def executor_of(shard: Shard) -> int:
    return shard._held._executor


def train(staleness: int, *plans: TimedPlan) -> TrainResult:
    app = ToyRegression()
    options = TrainOptions(MACHINES, 2, 2, EPOCHS, consistency=Ssp(staleness))
    cluster = InProcessCluster(MACHINES)
    return Job(app, app.prepare(None, seed=1), options, cluster, timetable=plans).run()


def empty_the_other_server(layout: JobLayout) -> Plan:
    return Plan.of([Move("model", tuple(layout.model.blocks_of(EMPTY)), EMPTY, SOURCE)])


def move_a_block_of_the_first_chunk(layout: JobLayout) -> Plan:
    assert layout.model.blocks_of(EMPTY) == []
    return Plan.of([Move("model", (0,), SOURCE, EMPTY)])


@pytest.mark.parametrize("staleness", others_in_soak([0, 1], [1]))
def test_a_block_that_moves_to_an_empty_server_during_a_push_stalls_no_worker(
    staleness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routed_calls, "CHUNK_BYTES", 1)
    MoveDuringPush(monkeypatch, first_epoch=4)
    result = train(
        staleness,
        TimedPlan(empty_the_other_server, at_epoch=1),
        TimedPlan(move_a_block_of_the_first_chunk, at_epoch=3),
    )
    assert [report.error for report in result.reconfigurations] == ["", ""]
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203
    assert result.losses[-1] < 0.1 * result.losses[0]


@pytest.mark.parametrize("staleness", [0, 1])
def test_pulls_alone_keep_the_workers_in_step(
    staleness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    contribute = Shard.push

    def push_uncounted(shard: Shard, request: Request, target: Target, head: PushHead) -> None:
        contribute(shard, request, target, PushHead(head.rank, head.step, head.instances, False))

    monkeypatch.setattr(Shard, "push", push_uncounted)
    assert train(staleness).app.visits_.tolist() == [float(EPOCHS)] * 203
