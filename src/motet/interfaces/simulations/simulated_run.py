"""One simulated run. It is the same every time, so a second one can record its decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from motet.domain.errors import BadInput
from motet.interfaces.simulation_runs import SimulationTask, run_one, run_output
from motet.report.simulation.folder import RunOutput, SimulationFolder
from motet.sim.metrics.results import SimulationResult


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One run: what was simulated, and its result."""

    task: SimulationTask
    result: SimulationResult

    def output(self, name: str, log: Path | None = None) -> RunOutput:
        """The files' content of the run. `log`: file with its decision log."""
        experiment = self.task.experiment
        setup = {
            "policy": experiment.policy,
            "settings": dict(experiment.settings),
            "seed": experiment.seed,
        }
        return run_output(name, self.result, setup, log)


def write_with_decisions(run: SimulatedRun, folder: Path, setup: Mapping[str, Any]) -> None:
    """Write the files of the run, with `decisions.jsonl`.

    Raises BadInput if the jobs ended otherwise than before, as under a policy with random numbers
    of its own, or one whose file has changed since.
    """
    task = run.task
    with TemporaryDirectory(prefix="motet-decisions-") as scratch:
        log = Path(scratch) / "decisions.jsonl"
        again = run_one(task.experiment, task.scenario, log=log)
        _require_same(run.result, again)
        output = SimulatedRun(task, again).output("run", log)
        SimulationFolder(folder, [output.name], overwrite=False).add(output, setup)


def _require_same(before: SimulationResult, after: SimulationResult) -> None:
    if list(before.job_rows()) != list(after.job_rows()):
        raise BadInput(
            f"{before.policy}: simulated again, its jobs ended at other times, so the decisions of "
            "this result are unknown; a policy depends on its snapshot only. Simulate again"
        )
