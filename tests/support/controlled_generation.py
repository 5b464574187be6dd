"""A generation of scripted executors: machines 0 and 1 work, 2 and 3 serve, 4 is idle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.generation.generation import Generation
from motet.runtime.controller.job_plan import JobPlan, plan_job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.rows import Rows
from motet.runtime.elastic.layout import JobLayout
from motet.transport import Endpoint
from scripted_executors import SECRET, Answers, ScriptedExecutor
from toy_app import ToyRegression
from wire_messages import plain

CONTROLLER_ENDPOINT = Endpoint("127.0.0.1", 1)
GENERATION = 7


class ControlledGeneration:
    """`generation` and its executors, by number; `start` is where it was set up from."""

    def __init__(self, answers: Answers | None = None, **options: Any) -> None:
        app = ToyRegression()
        self.rows: Rows = app.prepare(None, seed=1)
        fields = {"machines": 4, "workers": 2, "servers": 2, "epochs": 5, **options}
        self.options = TrainOptions(**fields)
        self.plan: JobPlan = plan_job(app, self.rows, self.options)
        self.layout: JobLayout = self.plan.first_layout
        self.executors = {n: ScriptedExecutor(n, answers) for n in self.layout.executors}
        self.start = Checkpoint(
            3, app.initial_model(self.rows, 0), self.rows.select(app.state_columns)
        )
        self.generation = Generation(
            GENERATION, self.plan, self.layout, self.executors, CONTROLLER_ENDPOINT, SECRET
        )
        self._answers = answers

    def another(self, number: int) -> ScriptedExecutor:
        """An executor that may be admitted."""
        self.executors[number] = ScriptedExecutor(number, self._answers)
        return self.executors[number]

    def asked(self) -> dict[int, list[Any]]:
        """What every executor was asked since the last call, comparable by `==`."""
        found = {}
        for number, executor in self.executors.items():
            found[number] = [plain(message) for message in executor.asked]
            executor.asked.clear()
        return found

    def close(self) -> None:
        self.generation.close()
        for executor in self.executors.values():
            executor.kill()


@contextmanager
def controlled_generation(
    answers: Answers | None = None, **options: Any
) -> Iterator[ControlledGeneration]:
    made = ControlledGeneration(answers, **options)
    try:
        yield made
    finally:
        made.close()
