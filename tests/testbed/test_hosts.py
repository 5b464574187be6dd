from __future__ import annotations

import pytest

from motet.domain.errors import BadInput, NotFound
from motet.testbed.hosts import (
    FRONT_HOST,
    Blueprint,
    Host,
    HostType,
    Limits,
    check_name,
    equal_machines,
    machines_of,
)

SLOW, FAST = Limits(cpus=0.1), Limits(cpus=0.4, bandwidth_bps=10**8)


def test_equal_machines_are_numbered() -> None:
    assert equal_machines(2, SLOW) == (Host(0, "m0", SLOW), Host(1, "m1", SLOW))


def test_machines_of_types_are_numbered_through() -> None:
    machines = machines_of([HostType("fast", 1, FAST), HostType("slow", 2, SLOW)])
    assert machines == (
        Host(0, "fast-0", FAST, "fast"),
        Host(1, "slow-0", SLOW, "slow"),
        Host(2, "slow-1", SLOW, "slow"),
    )


@pytest.mark.parametrize("count", [-1, 0, 201])
def test_a_testbed_has_one_to_two_hundred_machines(count: int) -> None:
    with pytest.raises(BadInput, match=r"machines: a testbed has 1 to 200"):
        equal_machines(count, SLOW)


def test_two_types_of_one_name_are_refused() -> None:
    with pytest.raises(BadInput, match="two hosts have the name 'a-0'"):
        machines_of([HostType("a", 1, SLOW), HostType("a", 1, FAST)])


@pytest.mark.parametrize("name", ["", "Fast", "0", "a b", "x/y", "a" * 40])
def test_an_invalid_host_name_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="is not a host name"):
        machines_of([HostType(name, 1, SLOW)])


@pytest.mark.parametrize("name", ["", "a.b", "a-b", "A", "1a", "../x", "a" * 13])
def test_an_invalid_testbed_name_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="a testbed's name has at most 12 letters"):
        check_name(name)


def blueprint() -> Blueprint:
    return Blueprint("t", equal_machines(3, FAST))


def test_hosts_are_chosen_by_number_or_name_each_once() -> None:
    chosen = blueprint().select(["2", "m0", "m2"])
    assert [host.name for host in chosen] == ["m2", "m0"]
    assert blueprint().select(["m1", "all"]) == list(blueprint().machines)


def test_an_unknown_host_is_not_found_and_the_known_ones_are_named() -> None:
    with pytest.raises(NotFound, match=r"unknown host 'm7'; .*known: front, m0, m1, m2"):
        blueprint().select(["m7"])


def test_the_front_can_be_entered_but_neither_limited_nor_killed() -> None:
    assert blueprint().find("front") is FRONT_HOST
    with pytest.raises(BadInput, match="front: this host has no limits"):
        blueprint().select(["front"])


def test_a_change_keeps_other_limits_and_other_hosts() -> None:
    changed = blueprint().changed(blueprint().select(["1"]), SLOW)
    limits = [host.limits for host in changed.machines]
    assert limits == [FAST, Limits(cpus=0.1, bandwidth_bps=10**8), FAST]
