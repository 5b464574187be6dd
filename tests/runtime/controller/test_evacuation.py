"""Notices in, urgent plans out."""

from __future__ import annotations

from typing import Literal

import pytest

from motet.domain.reconfiguration import Add, Delete, Plan
from motet.runtime.controller.evacuation import Evacuation, must_evacuate
from motet.runtime.controller.reconfiguration.plan_queue import PlanMaker
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.role_placement import RolePlacement

LAYOUT = JobLayout.even(RolePlacement((0, 1), (2,)), 4, 4)
Condition = Literal["up", "leaving", "gone"]


def machines(*conditions: Condition) -> list[Machine]:
    return [Machine(n, f"m{n}", condition=condition) for n, condition in enumerate(conditions)]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (("up", "up", "up", "up"), False),
        (("up", "leaving", "up", "up"), True),
        (("up", "up", "up", "leaving"), False),
        (("up", "gone", "up", "up"), False),
        (("leaving", "leaving", "leaving", "gone"), False),
    ],
    ids=["all up", "worker leaves", "machine without a role leaves", "worker gone", "none is up"],
)
def test_a_job_must_leave_machines_that_will_be_taken_away_if_it_can(
    conditions: tuple[Condition, ...], expected: bool
) -> None:
    assert must_evacuate(LAYOUT, machines(*conditions)) is expected


def test_a_notice_requests_one_plan_that_is_made_for_the_machines_of_its_moment() -> None:
    now = machines("up", "leaving", "up", "up")
    requested: list[PlanMaker] = []
    evacuation = Evacuation(lambda: LAYOUT, lambda: now, requested.append)
    evacuation.machines_changed(now)
    (make_plan,) = requested
    now[3:] = [Machine(3, "m3", condition="gone")]
    plan = make_plan(LAYOUT)
    assert isinstance(plan, Plan)
    assert [it for it in plan.operations if isinstance(it, Add)] == []
    assert Delete(1) in plan.operations


def test_other_changes_of_machines_request_nothing() -> None:
    requested: list[PlanMaker] = []
    evacuation = Evacuation(lambda: LAYOUT, list, requested.append)
    evacuation.machines_changed(machines("up", "gone", "up", "up"))
    assert requested == []
