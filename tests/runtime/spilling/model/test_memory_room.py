"""Room for what a job takes: from its input first, then from its model."""

from __future__ import annotations

import pytest

from motet.runtime.spilling.machine_memory import MachineMemory, MemoryState
from motet.runtime.spilling.model.memory_room import MemoryRoom

MEGABYTE = 1 << 20


class Machine(MachineMemory):
    """1000 MB, of which input and the model of one job take some."""

    def __init__(self, input_mb: int, model_mb: int) -> None:
        self.input_mb, self.model_mb = input_mb, model_mb
        self.spilled: list[str] = []
        self.looks = 0

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
        return "model" in self.spilled

    def spill(self) -> None:
        self.model_mb = 0
        self.spilled.append("model")

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
