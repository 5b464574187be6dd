"""An owner's part of a table, one call at a time: what a pull sees at the moment of a commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import ModelTable, Step
from motet.runtime.core.consistency import Bsp, Synchronisation
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec
from motet.runtime.server.shard import Shard
from motet.runtime.wire.messages import RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ALL_ROWS, WAIT, PullHead, PushHead, Target


class FakeRequest:
    """A request that remembers its reply's values."""

    def __init__(self, payload: Array | None = None) -> None:
        self.kind = RequestKind.PULL if payload is None else RequestKind.PUSH
        self.payload = memoryview(b"") if payload is None else memoryview(payload).cast("B")
        self.values: list[float] | None = None
        self.buffers: Any = ()
        self.meta = b""

    def reply(self, status: int, meta: bytes = b"", buffers: Any = (), on_sent: Any = None) -> None:
        del status
        self.meta, self.buffers = meta, buffers
        data = b"".join(bytes(memoryview(buffer).cast("B")) for buffer in buffers)
        self.values = np.frombuffer(data, np.float64).tolist()
        if on_sent is not None:
            on_sent()


class WatchedClocks:
    """Block clocks that call `on_change` at the moment a new one can be seen."""

    def __init__(self, clocks: Array, on_change: Callable[[], None]) -> None:
        self._clocks = clocks
        self._on_change = on_change

    def __getitem__(self, index: Any) -> Any:
        return self._clocks[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._clocks[index] = value
        self._on_change()


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta


def shard_of_two_keys() -> Shard:
    spec = TableSpec(MODEL_TABLE, ModelTable(2, (1,), np.dtype(np.float64)), block_count=1)
    return Shard(spec, add, Synchronisation(Bsp(), (0,)), Ownership.even(1, [0]), executor=0)


def target(clock: int) -> Target:
    return Target(0, MODEL_TABLE, 1, clock, 1, ALL_ROWS, np.zeros(1, np.uint32).tobytes())


def pulled(shard: Shard, clock: int) -> list[float] | None:
    request = FakeRequest()
    shard.pull(cast(Any, request), target(clock), PullHead())
    return request.values


def push(shard: Shard, clock: int, delta: Array) -> None:
    step = Step(0, clock, 10, clock, 1, 1, 0)
    request = FakeRequest(delta)
    shard.push(cast(Any, request), target(clock), PushHead(0, step, 1, is_last=True))


def test_a_pull_that_sees_the_new_clock_gets_the_new_values() -> None:
    shard = shard_of_two_keys()
    assert pulled(shard, 0) == [0.0, 0.0]
    seen: list[list[float] | None] = []
    watched = WatchedClocks(shard._gate._block_clocks, lambda: seen.append(pulled(shard, 1)))
    shard._gate._block_clocks = cast(Any, watched)
    push(shard, 0, np.array([1.0, 2.0]))
    assert seen == [[1.0, 2.0]]


def test_an_early_pull_is_answered_by_the_push_it_waited_for() -> None:
    shard = shard_of_two_keys()
    early = FakeRequest()
    parked_us = monotonic_us()
    shard.pull(cast(Any, early), target(1), PullHead())
    assert early.values is None
    push(shard, 0, np.array([3.0, 4.0]))
    assert early.values == [3.0, 4.0]
    [waited_us] = WAIT.unpack(early.meta)
    assert waited_us <= monotonic_us() - parked_us


def test_small_values_are_joined_once_for_all_who_pull_them() -> None:
    shard = shard_of_two_keys()
    first, second = FakeRequest(), FakeRequest()
    for request in (first, second):
        shard.pull(cast(Any, request), target(0), PullHead())
    assert first.buffers[0] is second.buffers[0]
