"""Nodes come and go, their numbers stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.backends.ray.machine_register import MachineRegister, Node


def node(name: str, **more: object) -> Node:
    return Node(f"id of {name}", name, "machine", **more)  # type: ignore[arg-type]


def test_machines_are_numbered_by_name_with_numbers_in_the_order_of_numbers() -> None:
    names = ["m10", "m2", "fast-1", "m1", "fast-0"]
    machines = MachineRegister(5).update([node(name) for name in names])
    assert [it.name for it in machines] == ["fast-0", "fast-1", "m1", "m2", "m10"]
    assert [it.number for it in machines] == [0, 1, 2, 3, 4]


def test_idle_nodes_are_taken_before_busy_ones() -> None:
    nodes = [node("m0", is_busy=True), node("m1"), node("m2")]
    machines = MachineRegister(2).update(nodes)
    assert [it.name for it in machines] == ["m1", "m2"]


def test_a_node_beyond_the_bound_takes_the_place_of_one_that_is_leaving() -> None:
    register = MachineRegister(2)
    register.update([node("m0"), node("m1"), node("m2")])
    leaving = node("m0", condition="leaving", notice_s=9.0)
    machines = register.update([leaving, node("m1"), node("m2")])
    assert [(it.name, it.condition) for it in machines] == [
        ("m0", "leaving"), ("m1", "up"), ("m2", "up"),
    ]  # fmt: skip
    assert machines[0].notice_s == 9.0


def test_a_machine_that_has_gone_never_comes_back() -> None:
    register = MachineRegister(1)
    register.update([node("m0")])
    register.update([])
    machines = register.update([node("m0")])
    assert [it.condition for it in machines] == ["gone"]


@given(
    bound=st.integers(1, 4),
    present=st.lists(st.sets(st.integers(0, 8)), min_size=1, max_size=10),
)
def test_numbers_are_stable_and_no_more_are_up_than_the_bound(
    bound: int, present: list[set[int]]
) -> None:
    register = MachineRegister(bound)
    before: tuple[str, ...] = ()
    for numbers in present:
        machines = register.update([node(f"m{number}") for number in numbers])
        assert [it.number for it in machines] == list(range(len(machines)))
        assert sum(it.condition == "up" for it in machines) <= bound
        assert tuple(register.identity_of(it.number) for it in machines)[: len(before)] == before
        before = tuple(register.identity_of(it.number) for it in machines)
        up = {it.name for it in machines if it.condition == "up"}
        assert up <= {f"m{number}" for number in numbers}
