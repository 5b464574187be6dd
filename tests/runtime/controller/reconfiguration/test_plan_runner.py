"""Plans in, operations and reports out; `run_plan` is tested with plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue

import pytest

from controlled_generation import ControlledGeneration, controlled_generation
from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Delete, Move, Plan, RoleCounts
from motet.runtime.controller.reconfiguration.operations import Operations
from motet.runtime.controller.reconfiguration.plan_queue import PlanQueue, Reconfiguration
from motet.runtime.controller.reconfiguration.plan_runner import PlanRunner
from motet.runtime.core.reporting.reports import ReconfigurationReport
from motet.runtime.elastic.layout import JobLayout
from scripted_executors import ScriptedExecutor

TIMEOUT_S = 100.0


@dataclass
class Running:
    """A runner on a generation of scripted executors, and what it reported."""

    made: ControlledGeneration
    queue: PlanQueue = field(default_factory=PlanQueue)
    reports: SimpleQueue[ReconfigurationReport] = field(default_factory=SimpleQueue)
    lost: SimpleQueue[str] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        self.operations = Operations(
            self.made.generation, self.made.layout, self.made.another, ScriptedExecutor.kill
        )
        self.runner = PlanRunner(
            self.operations,
            self.queue,
            lambda: range(5),
            lambda: 6,
            self.reports.put,
            self.lost.put,
        )

    def request(self, make_plan: Callable[[JobLayout], Plan]) -> Reconfiguration:
        wanted = Reconfiguration(make_plan, predicted_gain=0.25)
        self.queue.put(wanted)
        return wanted


@pytest.fixture
def running() -> Iterator[Running]:
    with controlled_generation() as made:
        running = Running(made)
        running.runner.start()
        yield running
        running.runner.close()


def test_a_plan_is_carried_out_and_reported(running: Running) -> None:
    wanted = running.request(lambda layout: Plan.of([Add(4, "worker"), Delete(1)]))
    report = running.reports.get(timeout=TIMEOUT_S)
    assert (report.at_epoch, report.before, report.after) == (
        6, RoleCounts(2, 2), RoleCounts(2, 2),
    )  # fmt: skip
    assert (report.operations, report.error, report.predicted_gain) == (2, "", 0.25)
    assert wanted.wait(TIMEOUT_S)
    assert (wanted.state, wanted.progress, wanted.report) == ("done", (2, 2), report)
    assert running.operations.layout.workers == (0, 4)


def test_plans_are_carried_out_one_after_another(running: Running) -> None:
    seen: list[tuple[int, ...]] = []

    def add_and_look(executor: int) -> Callable[[JobLayout], Plan]:
        def make_plan(layout: JobLayout) -> Plan:
            seen.append(layout.workers)
            return Plan.of([Add(executor, "worker")])

        return make_plan

    running.request(add_and_look(4))
    running.request(add_and_look(2))
    for _ in range(2):
        assert running.reports.get(timeout=TIMEOUT_S).error == ""
    assert seen == [(0, 1), (0, 1, 4)]


def bad_plan(layout: JobLayout) -> Plan:
    raise BadInput("no machine is fast enough")


def broken_planner(layout: JobLayout) -> Plan:
    raise KeyError("bandwidth")


@pytest.mark.parametrize(
    ("make_plan", "error"),
    [
        (bad_plan, "no machine is fast enough"),
        (broken_planner, "the planner failed: KeyError: 'bandwidth'"),
        (
            lambda layout: Plan.of([Add(0, "worker")]),
            "operation 1 (add worker 0): executor 0 is a worker already",
        ),
        (lambda layout: Plan.of([Add(9, "worker")]), "operation 1 (add worker 9): there is no"),
    ],
)
def test_a_plan_that_cannot_be_made_is_reported_and_the_next_one_begins(
    running: Running, make_plan: Callable[[JobLayout], Plan], error: str
) -> None:
    wanted = running.request(make_plan)
    report = running.reports.get(timeout=TIMEOUT_S)
    assert report.error.startswith(error)
    assert (report.operations, wanted.state) == (0, "failed")
    running.request(lambda layout: Plan.of([Add(0, "server")]))
    assert running.reports.get(timeout=TIMEOUT_S).error == ""


def test_a_plan_that_an_executors_loss_cuts_off_waits_for_the_next_generation(
    running: Running,
) -> None:
    running.made.executors[1].kill()
    wanted = running.request(lambda layout: Plan.of([Move("data", (0,), 0, 1)]))
    cause = running.lost.get(timeout=TIMEOUT_S)
    assert cause.startswith("a reconfiguration was cut off: Unreachable: ")
    assert wanted.state == "waiting"
    assert not wanted.wait(0)
    assert running.reports.empty()
    assert running.queue.take(lambda: False) is wanted


def test_a_runner_that_is_closed_takes_no_more_plans() -> None:
    with controlled_generation() as made:
        running = Running(made)
        running.runner.start()
        running.runner.stop_taking()
        running.runner.close()
        wanted = running.request(lambda layout: Plan.of([Add(0, "server")]))
        assert running.queue.take(lambda: False) is wanted
        assert running.operations.layout is made.layout
