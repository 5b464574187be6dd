"""GPUs of jobs: as many as slots, never those of another job, the same ones for partners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement
from motet.live.slots.devices import (
    HeldDevices,
    devices_of,
    devices_text,
    divided_devices,
)

FOUR = ("0", "1", "2", "3")


@given(st.lists(st.sampled_from(["0", "7", "GPU-8932f937-d72c"]), unique=True))
def test_devices_are_read_as_they_are_written(devices: list[str]) -> None:
    assert devices_of(devices_text(tuple(devices))) == tuple(devices)


def test_gpus_are_divided_in_order() -> None:
    assert divided_devices([2, 1], FOUR, are_given=True) == ("0,1", "2")


def test_slots_are_no_gpus_where_there_are_too_few() -> None:
    assert divided_devices([5], FOUR, are_given=False) == ()
    assert divided_devices([5], (), are_given=True) == ()
    with pytest.raises(BadInput, match=r"--gpus 0,1,2,3: 4 GPUs for 5 slots; .*--gpus none"):
        divided_devices([5], FOUR, are_given=True)


def test_partners_hold_the_same_gpus_even_if_others_are_free() -> None:
    held = HeldDevices()
    assert held.take(1, Placement((0,), (1,)), [FOUR], ()) == (("0",),)
    assert held.take(2, Placement((0,), (2,)), [FOUR], ()) == (("1", "2"),)
    assert held.take(3, Placement((0,), (2,)), [FOUR], [2]) == (("1", "2"),)
    assert held.take(4, Placement((0,), (1,)), [FOUR], ()) == (("3",),)


def test_machines_without_gpus_give_none() -> None:
    held = HeldDevices()
    assert held.take(1, Placement((0, 2), (1, 2)), [("5",), ()], ()) == (("5",), ())


def test_a_job_whose_partner_has_left_holds_gpus_of_its_own() -> None:
    held = HeldDevices()
    held.take(1, Placement((0,), (1,)), [FOUR], ())
    held.take(2, Placement((0,), (1,)), [FOUR], ())
    held.give_back(1, Placement((0,), (1,)))
    assert held.take(3, Placement((0,), (1,)), [FOUR], [1]) == (("0",),)


class JobsOfTwoMachines(RuleBasedStateMachine):
    """Jobs begin where slots are free, or on those of a partner, and end."""

    def __init__(self) -> None:
        super().__init__()
        self.held = HeldDevices()
        self.jobs: dict[int, tuple[Placement, tuple[tuple[str, ...], ...]]] = {}
        self.hosts: dict[int, int] = {}
        self.last = 0

    def free(self, machine: int) -> int:
        """Slots that no job holds, as the engine counts them."""
        groups = {self.hosts[job]: self.jobs[job][0] for job in self.jobs}
        return len(FOUR) - sum(
            dict(zip(*placement, strict=True)).get(machine, 0) for placement in groups.values()
        )

    @rule(one=st.integers(0, 4), other=st.integers(0, 4))
    def begin(self, one: int, other: int) -> None:
        """A job of its own, if there is room."""
        parts = [(machine, count) for machine, count in ((0, one), (1, other)) if count]
        if not parts or any(count > self.free(machine) for machine, count in parts):
            return
        self._take(Placement(*map(tuple, zip(*parts, strict=True))), None)

    @rule(place=st.integers(0, 100))
    def share(self, place: int) -> None:
        """A job on the slots of another one."""
        if self.jobs:
            partner = sorted(self.jobs)[place % len(self.jobs)]
            self._take(self.jobs[partner][0], partner)
            assert self.jobs[self.last][1] == self.jobs[partner][1]

    @rule(place=st.integers(0, 100))
    def end(self, place: int) -> None:
        """Any job."""
        if self.jobs:
            job = sorted(self.jobs)[place % len(self.jobs)]
            self.held.give_back(job, self.jobs.pop(job)[0])

    def _take(self, placement: Placement, partner: int | None) -> None:
        self.last += 1
        partners = [] if partner is None else [partner]
        devices = [FOUR for _ in placement.machines]
        self.hosts[self.last] = self.last if partner is None else self.hosts[partner]
        self.jobs[self.last] = placement, self.held.take(self.last, placement, devices, partners)

    @invariant()
    def each_has_what_its_slots_are(self) -> None:
        """As many as its placement says; disjoint from those of jobs that share nothing with it."""
        for job, (placement, taken) in self.jobs.items():
            assert tuple(map(len, map(set, taken))) == placement.counts
            for other, (elsewhere, theirs) in self.jobs.items():
                if self.hosts[job] != self.hosts[other]:
                    own = dict(zip(placement.machines, taken, strict=True))
                    for machine, devices in zip(elsewhere.machines, theirs, strict=True):
                        assert set(devices).isdisjoint(own.get(machine, ()))


TestJobsOfTwoMachines = JobsOfTwoMachines.TestCase
