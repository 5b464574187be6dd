"""Room for what a job takes: from its input first, then from its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from unittest.mock import patch

import pytest

from motet.runtime.spilling.machine_memory import MachineMemory, MemoryState
from motet.runtime.spilling.memory_watch import MemoryWatch
from motet.runtime.spilling.model.memory_room import MemoryRoom, ReturnPace

MEGABYTE = 1 << 20


class Machine(MachineMemory):
    """1000 MB, of which input and the model of one job take some."""

    def __init__(self, input_mb: int, model_mb: int) -> None:
        self.input_mb, self.model_mb = input_mb, model_mb
        self.spilled: list[str] = []
        self.looks = self.returns = 0
        self.absent_mb = 0

    def state(self) -> MemoryState:
        self.looks += 1
        free = 1000 - self.input_mb - self.model_mb
        return MemoryState(1000 * MEGABYTE, free * MEGABYTE)

    def make_room(self, nbytes: int) -> bool:
        while self.input_mb and self._is_short(nbytes):
            self.input_mb -= 1
        self.spilled.append("input")
        return not self._is_short(nbytes)

    @property
    def is_spilled(self) -> bool:
        return self.absent_mb > 0

    @property
    def absent_bytes(self) -> int:
        return self.absent_mb * MEGABYTE

    def spill(self) -> None:
        self.model_mb, self.absent_mb = 0, self.model_mb
        self.spilled.append("model")

    def bring_back(self, has_room: Callable[[int], bool]) -> None:
        if has_room(self.absent_bytes):
            self.model_mb, self.absent_mb = self.absent_mb, 0
            self.returns += 1

    def _is_short(self, nbytes: int) -> bool:
        return self.state().free_bytes - nbytes < 120 * MEGABYTE


@pytest.mark.parametrize(
    ("input_mb", "model_mb", "spilled"),
    [
        (300, 300, []),
        (400, 300, ["input"]),
        (100, 800, ["input", "model"]),
        (0, 800, ["input", "model"]),
    ],
)
def test_the_model_is_spilled_where_all_input_on_disk_does_not_suffice(
    input_mb: int, model_mb: int, spilled: list[str]
) -> None:
    machine = Machine(input_mb, model_mb)
    MemoryRoom(machine, machine, machine).require(200 * MEGABYTE)
    assert machine.spilled == spilled


def test_only_input_makes_room_where_the_model_would_not_free_much() -> None:
    machine = Machine(100, 800)
    MemoryRoom(machine, machine, machine, spills_model=False).require(200 * MEGABYTE)
    assert machine.spilled == ["input"]
    assert (machine.input_mb, machine.is_spilled) == (0, False)


def test_the_model_is_spilled_once() -> None:
    machine = Machine(0, 800)
    room = MemoryRoom(machine, machine, machine)
    for _ in range(3):
        room.require(900 * MEGABYTE)
    assert machine.spilled.count("model") == 1


def test_requests_look_at_the_memory_now_and_then() -> None:
    machine, clock = Machine(0, 800), [1]
    room = MemoryRoom(machine, machine, machine, lambda: clock[0])
    room.before_request(0)
    looks = machine.looks
    assert looks
    room.before_request(0)
    assert machine.looks == looks
    clock[0] = 1_000_000
    machine.model_mb = 950
    room.before_request(0)
    assert machine.spilled == ["input", "model"]


@contextmanager
def spilled(model_mb: int) -> Iterator[tuple[Machine, MemoryRoom]]:
    """A machine whose memory another job took, so that the model went to disk. Only what a test
    asks looks at the memory."""
    machine = Machine(950 - model_mb, model_mb)
    with (
        patch.object(MemoryWatch, "start", lambda watch: None),
        closing(MemoryRoom(machine, machine, machine)) as room,
    ):
        machine.make_room = lambda nbytes: False  # type: ignore[method-assign]
        room.require(0)
        assert machine.is_spilled
        yield machine, room


def test_a_model_returns_after_a_whole_epoch_with_room_for_it() -> None:
    with spilled(300) as (machine, room):
        machine.input_mb = 1000 - 300 - 240
        assert not room.may_return()
        assert room.may_return()
        room.bring_back()
        assert (machine.model_mb, machine.returns) == (300, 1)
        assert not room.may_return()


def test_a_model_stays_on_disk_if_it_would_leave_less_than_enough_free() -> None:
    with spilled(300) as (machine, room):
        machine.input_mb = 1000 - 300 - 239
        assert [room.may_return() for _ in range(5)] == [False] * 5


def test_what_the_worker_was_about_to_take_in_an_epoch_counts() -> None:
    """The copy for an evaluation is taken and freed within each epoch."""
    with spilled(300) as (machine, room):
        machine.input_mb = 100
        for _ in range(4):
            assert not room.may_return()
            room.require(400 * MEGABYTE)
        room.may_return()
        assert room.may_return()


def test_a_model_whose_room_is_gone_by_then_stays() -> None:
    with spilled(300) as (machine, room):
        machine.input_mb = 0
        room.may_return()
        assert room.may_return()
        machine.input_mb = 700
        room.bring_back()
        assert (machine.model_mb, machine.returns) == (0, 0)


def test_a_model_that_is_spilled_again_and_again_returns_ever_later() -> None:
    pace, pauses = ReturnPace(), []
    for _ in range(8):
        pace, epochs = pace.spilled(), 0
        while pace.pause:
            pace, epochs = pace.waited(), epochs + 1
        pauses.append(epochs)
    assert pauses == [1, 2, 4, 8, 16, 32, 32, 32]
    for _ in range(31):
        pace = pace.stayed()
    assert pace.spilled().pause == 1
