"""What becomes of the roles and blocks of executors whose machines are gone or leaving."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.domain.errors import JobFailed
from motet.domain.reconfiguration import Move
from motet.runtime.core.machine import Condition, Machine
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_plan
from motet.runtime.elastic.replacement import evacuation_plan, layout_on_up_machines
from motet.runtime.elastic.role_placement import RolePlacement

CONDITIONS: tuple[Condition, ...] = ("up", "leaving", "gone")


def machines_of(*conditions: Condition, kinds: str = "") -> list[Machine]:
    kinds = kinds or "x" * len(conditions)
    return [Machine(i, f"m{i}", kinds[i], it) for i, it in enumerate(conditions)]


def layout_of(machines: int, workers: int, servers: int) -> JobLayout:
    return JobLayout.even(RolePlacement.spread(machines, workers, servers), 12, 24)


def test_a_spare_machine_takes_all_of_a_lost_ones_place() -> None:
    layout = layout_of(3, workers=2, servers=1)
    after = layout_on_up_machines(layout, machines_of("up", "gone", "up", "up"))
    assert (after.workers, after.servers) == ((0, 3), (2,))
    assert after.data.blocks_of(3) == layout.data.blocks_of(1)
    assert after.model.blocks_of(2) == layout.model.blocks_of(2)


def test_a_spare_of_the_same_kind_is_preferred() -> None:
    machines = machines_of("up", "gone", "up", "up", kinds="abab")
    assert layout_on_up_machines(layout_of(2, workers=2, servers=1), machines).workers == (0, 3)


def test_without_a_spare_the_others_share_the_blocks_evenly() -> None:
    after = layout_on_up_machines(
        layout_of(4, workers=3, servers=1), machines_of("up", "gone", "up", "up")
    )
    assert (after.workers, after.servers) == ((0, 2), (3,))
    assert Counter(after.data.owners.tolist()) == {0: 12, 2: 12}


def test_the_loss_of_the_only_server_makes_a_server_of_a_worker() -> None:
    after = layout_on_up_machines(
        layout_of(3, workers=2, servers=1), machines_of("up", "up", "gone")
    )
    assert (after.workers, after.servers) == ((0, 1), (1,))
    assert set(after.model.owners.tolist()) == {1}


def test_the_loss_of_the_only_worker_makes_a_worker_of_a_server() -> None:
    after = layout_on_up_machines(
        layout_of(3, workers=1, servers=2), machines_of("gone", "up", "up")
    )
    assert (after.workers, after.servers) == ((1,), (1, 2))
    assert set(after.data.owners.tolist()) == {1}


def test_machines_that_are_all_up_change_nothing() -> None:
    layout, machines = layout_of(3, workers=2, servers=1), machines_of("up", "up", "up", "up")
    assert evacuation_plan(layout, machines).operations == ()


def test_the_loss_of_the_last_machine_ends_the_job() -> None:
    with pytest.raises(JobFailed, match=r"no machine is left.*--resume"):
        layout_on_up_machines(layout_of(2, workers=2, servers=1), machines_of("gone", "gone"))


@st.composite
def cases(draw: st.DrawFn) -> tuple[JobLayout, list[Machine]]:
    count = draw(st.integers(1, 6))
    layout = layout_of(count, draw(st.integers(1, count)), draw(st.integers(1, count)))
    more = draw(st.integers(0, 3))
    conditions = [draw(st.sampled_from(CONDITIONS)) for _ in range(count + more)]
    assume("up" in conditions)
    return layout, machines_of(*conditions)


@given(cases())
def test_afterwards_all_is_on_machines_that_are_up(
    case: tuple[JobLayout, list[Machine]],
) -> None:
    layout, machines = case
    after = layout_on_up_machines(layout, machines)
    assert all(machines[executor].condition == "up" for executor in after.executors)
    assert after.workers
    assert after.servers
    assert set(after.model.owners.tolist()) <= set(after.servers)
    assert set(after.data.owners.tolist()) <= set(after.workers)


@given(cases())
def test_a_plan_leads_there_and_moves_no_block_twice(case: tuple[JobLayout, list[Machine]]) -> None:
    layout, machines = case
    plan = evacuation_plan(layout, machines)
    up = [machine.number for machine in machines if machine.condition == "up"]
    after, expected = layout_after_plan(layout, plan, up), layout_on_up_machines(layout, machines)
    assert (after.workers, after.servers) == (expected.workers, expected.servers)
    assert after.model.owners.tolist() == expected.model.owners.tolist()
    assert after.data.owners.tolist() == expected.data.owners.tolist()
    moved = Counter(
        (move.table, block)
        for move in plan.operations
        if isinstance(move, Move)
        for block in move.blocks
    )
    assert set(moved.values()) <= {1}
