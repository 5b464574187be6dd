"""A mini-batch with stealing, event by event: subtasks, the gate, and what is pushed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest

from motet.runtime.core.application import Batch, Step, Update
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule, deal_blocks
from motet.runtime.core.subtask import SubtaskLog
from motet.runtime.stealing.batch_runner import StealingBatchRunner
from motet.runtime.stealing.messages import StolenPart
from motet.runtime.stealing.thief import Thief
from motet.runtime.stealing.victim import StealRequest, Victim
from motet.runtime.worker.share import DataShare
from recorded_subtasks import RecordedModel, bracketed, step_of, subtasks_of
from toy_app import ToyRegression

KEYS = 40


class Recorded(ToyRegression):
    """Writes down how many instances are computed."""

    events: list[str]

    def compute(self, batch: Batch, model: Any, step: Step) -> Update:
        self.events.append(f"compute {len(batch.rows)}")
        return super().compute(batch, model, step)


class WantedVictim(Victim):
    """Thieves request from it in every mini-batch, but take nothing."""

    is_wanted = True  # type: ignore[assignment]


class Given:
    """A victim's answer."""

    def __init__(self, is_late: bool, part: StolenPart | None) -> None:
        self._answer = is_late, part

    def wait(self) -> tuple[bool, StolenPart | None]:
        return self._answer


class Returned:
    """A return of state that the victim has taken."""

    def wait(self) -> Any:
        return cast(Any, type("Taken", (), {"status": 0}))


class OneLateWorker:
    """Stands for the messages to worker 1, which gives its parts away one after another."""

    def __init__(self, parts: Iterable[Rows] = ()) -> None:
        self._parts = list(parts)
        self.requests: list[StealRequest] = []
        self.returned: list[tuple[int, int, float]] = []

    def request(self, victim: int, request: StealRequest) -> Given:
        self.requests.append(request)
        if not self._parts:
            return Given(False, None)
        rows = self._parts.pop(0)
        return Given(True, StolenPart(victim, 7, rows, has_more=bool(self._parts)))

    def return_state(self, part: StolenPart, clock: int, columns: Iterable[str]) -> Returned:
        (column,) = columns
        self.returned.append((part.low, clock, float(part.rows[column].sum())))
        return Returned()


class OneWorker:
    """Worker 0 of two, with every second data block."""

    def __init__(
        self,
        victim: Victim,
        late: OneLateWorker | None = None,
        section_bytes: int = 1 << 30,
        **parameters: Any,
    ) -> None:
        self.events: list[str] = []
        self.app = Recorded(features=KEYS, batch_size=100, **parameters)
        self.app.events = self.events
        rows = self.app.prepare(None, seed=1)
        self.schedule = Schedule.of(len(rows), 100, 8, seed=0)
        blocks = deal_blocks(rows, self.schedule)
        mine = {number: blocks[number] for number in range(0, 8, 2)}
        self.share = DataShare(self.app, self.schedule, mine, section_bytes=section_bytes)
        self.model = RecordedModel(self.app, np.zeros((KEYS, 1)), self.events)
        self.late = late or OneLateWorker()
        thief = Thief(0, self.app, self.model, cast(Any, self.late))
        self.runner = StealingBatchRunner(self.app, self.model, victim, thief, lambda: (0, 1))

    def run(self, clock: int) -> SubtaskLog:
        self.events.clear()
        instances = self.schedule.batch_instances(clock)
        step = step_of(clock, instances, self.schedule.instance_count)
        subtasks = subtasks_of(step, self.events)
        self.runner.run_batch(self.share, clock, subtasks)
        return subtasks.log

    def count(self, clock: int) -> int:
        return self.share.part(clock).instances


def test_a_whole_part_is_computed_as_without_stealing() -> None:
    worker = OneWorker(Victim())
    count = worker.count(0)
    log = worker.run(0)
    assert worker.events == [
        "await start",
        "begin",
        *bracketed("pull", "pull"),
        *bracketed("comp", f"compute {count}"),
        *bracketed("push", "push"),
    ]
    assert (log.instances, worker.late.requests) == (count, [])


@pytest.mark.parametrize("section_bytes", [1, 1 << 30])
def test_every_unit_of_a_split_part_is_one_bracketed_comp(section_bytes: int) -> None:
    whole, split = OneWorker(Victim()), OneWorker(WantedVictim(), section_bytes=section_bytes)
    split.run(0)  # the first mini-batch measures how long instances take
    log = split.run(1)
    sizes = [int(event.split()[1]) for event in split.events if event.startswith("compute")]
    assert split.events == [
        "await start",
        "begin",
        *bracketed("pull", "pull"),
        *(event for size in sizes for event in bracketed("comp", f"compute {size}")),
        *bracketed("push", "push"),
    ]
    assert len(sizes) > 1
    assert sum(sizes) == log.instances == split.count(1)
    whole.run(1)
    (expected, _), (got, _) = whole.model.pushed[0], split.model.pushed[1]
    assert expected is not None
    assert got is not None
    np.testing.assert_allclose(got.update.delta, expected.update.delta, rtol=1e-12)
    assert got.update.statistics == expected.update.statistics


def stolen_rows(worker: OneWorker, count: int) -> Rows:
    return worker.app.prepare(None, seed=2).slice(0, count)


def test_stolen_instances_are_bracketed_comps_between_the_own_part_and_the_push() -> None:
    late = OneLateWorker()
    worker = OneWorker(Victim(), late)
    late._parts += [stolen_rows(worker, 9), stolen_rows(worker, 4)]
    worker.model.long_wait_us = 1_000_000
    count = worker.count(0)
    log = worker.run(0)
    assert worker.events == [
        "await start",
        "begin",
        *bracketed("pull", "pull"),
        *bracketed("comp", f"compute {count}"),
        *bracketed("comp", "compute 9"),
        *bracketed("comp", "compute 4"),
        *bracketed("push", "push"),
    ]
    assert log.instances == count + 13
    assert late.returned == [(7, 0, 9.0), (7, 0, 4.0)]
    ((pushed, instances),) = worker.model.pushed
    assert pushed is not None
    assert pushed.update.statistics == (count + 13,)
    assert instances == count


def test_values_that_a_thief_lacks_are_one_more_bracketed_pull() -> None:
    late = OneLateWorker()
    worker = OneWorker(Victim(), late, sparse=True)
    dense = stolen_rows(worker, 3)
    late._parts.append(dense.with_columns({"x": np.ones((3, KEYS))}))
    worker.share = DataShare(worker.app, worker.schedule, {})
    worker.model.long_wait_us = 1_000_000
    worker.run(0)
    assert worker.events == [
        "await start",
        "begin",
        *bracketed("pull", "pull"),
        *bracketed("pull", "fetch"),
        *bracketed("comp", "compute 3"),
        *bracketed("push", "push"),
    ]


def test_a_computation_that_raises_leaves_the_gate() -> None:
    worker = OneWorker(Victim(), fail_at_clock=0)
    with pytest.raises(ZeroDivisionError):
        worker.run(0)
    assert worker.events[-1] == "leave comp"
    assert "enter push" not in worker.events
