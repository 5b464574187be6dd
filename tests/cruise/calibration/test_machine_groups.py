"""Machines of a kind form one group, unless their measured speeds certainly differ."""

from __future__ import annotations

from motet.cruise.calibration.averages import Average
from motet.cruise.calibration.machine_groups import (
    CandidateMachine,
    MachineGroup,
    group_machines,
)


def machines(*kinds: str) -> list[CandidateMachine]:
    return [CandidateMachine(number, kind) for number, kind in enumerate(kinds)]


def comp(*means_s: float, error_s: float = 0.0) -> dict[int, Average]:
    return {number: Average(mean_s, error_s) for number, mean_s in enumerate(means_s)}


def test_without_measurements_the_kinds_are_the_groups() -> None:
    assert group_machines(machines("slow", "fast", "slow"), {}) == (
        MachineGroup("slow", "slow", (0, 2)),
        MachineGroup("fast", "fast", (1,)),
    )


def test_a_slow_machine_is_a_group_behind_its_kind_named_by_its_speed() -> None:
    found = group_machines(machines("a", "a", "a", "b"), comp(1.0, 4.0, 1.1))
    assert found == (
        MachineGroup("a", "a", (0, 2)),
        MachineGroup("a ×0.26", "a", (1,)),
        MachineGroup("b", "b", (3,)),
    )


def test_the_largest_group_keeps_the_name_of_its_kind_and_the_machines_not_measured() -> None:
    found = group_machines(machines(*"aaaaa"), comp(2.0, 1.0, 2.0, 2.1))
    assert found == (MachineGroup("a", "a", (0, 2, 3, 4)), MachineGroup("a ×2", "a", (1,)))


def test_small_differences_add_up_to_no_group() -> None:
    assert len(group_machines(machines(*"aaaa"), comp(1.0, 1.2, 1.44, 1.7))) == 1


def test_a_difference_within_the_noise_is_none() -> None:
    assert len(group_machines(machines("a", "a"), comp(1.0, 1.5, error_s=0.2))) == 1
    assert len(group_machines(machines("a", "a"), comp(1.0, 1.5, error_s=0.1))) == 2


def test_machines_of_different_kinds_are_never_compared() -> None:
    found = group_machines(machines("a", "b"), comp(1.0, 9.0))
    assert [group.name for group in found] == ["a", "b"]
