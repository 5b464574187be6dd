"""Looks in, changes out."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from motet.runtime.controller.machine_watch import MachineWatch
from motet.runtime.controller.ports import ClusterLost
from motet.runtime.core.machine import Machine

M0, M1 = Machine(0, "m0"), Machine(1, "m1")
LEAVING, GONE = replace(M1, condition="leaving"), replace(M1, condition="gone")
TIMEOUT_S = 100.0


class Looks:
    """Every look gives the next entry of a script, then the last one again."""

    def __init__(self, *script: Sequence[Machine] | Exception) -> None:
        self._script = list(script)
        self.changes: queue.SimpleQueue[list[Machine]] = queue.SimpleQueue()
        self.all: list[Sequence[Machine]] = []
        self.losses: queue.SimpleQueue[ClusterLost] = queue.SimpleQueue()
        self.watch = MachineWatch(self._look, self._changed, self.losses.put, every_s=0.001)

    def _look(self) -> Sequence[Machine]:
        now = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(now, Exception):
            raise now
        return now

    def _changed(self, changed: Sequence[Machine], machines: Sequence[Machine]) -> None:
        self.all.append(machines)
        self.changes.put(list(changed))

    def next(self) -> list[Machine]:
        return self.changes.get(timeout=TIMEOUT_S)


@pytest.fixture
def watched(request: pytest.FixtureRequest) -> Iterator[Looks]:
    looks = Looks(*request.param)
    looks.watch.start()
    yield looks
    looks.watch.close()


@pytest.mark.parametrize("watched", [[[M0, M1], [M0, LEAVING], [M0, GONE]]], indirect=True)
def test_every_change_of_a_condition_is_reported_with_all_machines(watched: Looks) -> None:
    assert watched.next() == [LEAVING]
    assert watched.next() == [GONE]
    assert watched.all == [[M0, LEAVING], [M0, GONE]]


@pytest.mark.parametrize("watched", [[[M0, LEAVING], [M0, LEAVING, M1]]], indirect=True)
def test_a_machine_that_is_not_up_at_the_first_look_has_changed(watched: Looks) -> None:
    assert watched.next() == [LEAVING]


@pytest.mark.parametrize("watched", [[[M0], [M0, M1]]], indirect=True)
def test_a_machine_that_appears_has_changed(watched: Looks) -> None:
    assert watched.next() == [M1]


@pytest.mark.parametrize(
    "watched", [[[M0, M1], ConnectionError("no answer"), [M0, GONE]]], indirect=True
)
def test_a_look_that_fails_is_repeated(watched: Looks) -> None:
    assert watched.next() == [GONE]


def test_a_watch_that_never_started_can_be_closed() -> None:
    MachineWatch(list, lambda changed, machines: None, lambda lost: None).close()


def test_the_loss_of_the_cluster_is_reported_once_and_ends_the_watch() -> None:
    looks = Looks([M0], ClusterLost("the head is gone"))
    looks.watch.start()
    assert str(looks.losses.get(timeout=TIMEOUT_S)) == "the head is gone"
    looks.watch.close()
    assert looks.losses.empty()
