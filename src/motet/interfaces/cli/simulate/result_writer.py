"""Writes each simulation when it has finished, so that a later failure does not lose it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from motet.interfaces.cli.shell.process.interruption import (
    Hint,
    forget_interruption,
    prepare_interruption,
)
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.simulation_runs import SimulationTask, run_output
from motet.report.rendering.quantities import count_text, duration_text
from motet.report.simulation.folder import RunOutput, SimulationFolder
from motet.sim.experiment import Experiment
from motet.sim.metrics.results import SimulationResult

_TOLD_FROM_S = 1.0
"""A shorter compilation is not told."""


class ResultWriter:
    """Writes results into `--out`, and a line per finished run on stderr."""

    def __init__(
        self,
        names: Sequence[str],
        tasks: Sequence[SimulationTask],
        folder: SimulationFolder | None,
        setup: Mapping[str, Any],
        *,
        is_quiet: bool,
    ) -> None:
        """`names`: of the runs. `folder`: None without `--out`."""
        self._names, self._tasks, self._folder, self._setup = names, tasks, folder, setup
        self._is_quiet = is_quiet
        self._prints_finished = not is_quiet and not is_live_terminal(sys.stderr)
        self._written: dict[int, RunOutput] = {}

    def write(self, number: int, result: SimulationResult) -> None:
        """Write the result of a task."""
        name = self._names[number]
        if self._folder is not None:
            task = self._tasks[number]
            output = run_output(name, result, _setup_of(task.experiment), task.log)
            self._folder.add(output, self._setup)
            self._written[number] = output
            self._prepare_interruption(self._folder.path)
        if self._prints_finished and len(self._tasks) > 1:
            echo_note(f"{name}: finished in {duration_text(result.wall_s)}")
        if not self._is_quiet and result.compile_s >= _TOLD_FROM_S:
            echo_note(
                f"{name}: {duration_text(result.compile_s)} of {duration_text(result.wall_s)} "
                "compiled code, which later runs load"
            )
        if not self._is_quiet and (unfinished := _unfinished_text(result)):
            echo_note(f"{name}: {unfinished}")

    def _prepare_interruption(self, folder: Path) -> None:
        """What an interruption says from now on."""
        done, runs = len(self._written), count_text(len(self._tasks), "run")
        verb = "is" if done == 1 else "are"
        compare = f"motet compare {shlex.quote(str(folder))}"
        prepare_interruption(Hint(f"{done} of {runs} {verb} finished and kept: {compare}"), {})

    def finish(self) -> None:
        """Write the summary and the figures of all runs."""
        if self._folder is not None:
            runs = [self._written[number] for number in range(len(self._tasks))]
            self._folder.finish(runs, self._setup)
            forget_interruption()


def absolute_if_file(given: str) -> str:
    """The absolute path of a file, so that it is found from another folder; names stay."""
    return str(Path(given).absolute()) if Path(given).is_file() else given


def _setup_of(experiment: Experiment) -> dict[str, Any]:
    return {
        "policy": absolute_if_file(experiment.policy),
        "settings": dict(experiment.settings),
        "seed": experiment.seed,
        **({} if experiment.swept is None else {"swept": experiment.swept}),
    }


def _unfinished_text(result: SimulationResult) -> str:
    """Notice about jobs that did not finish; empty if all did."""
    jobs, left = result.summary["jobs"], result.unfinished
    total = sum(left.values())
    if not total:
        return ""
    why = "the policy gives them no GPUs"
    if total > left["waiting"]:
        why = ", ".join(f"{count:,} {state}" for state, count in left.items() if count)
    return (
        f"{total:,} of {count_text(jobs, 'job')} did not finish: {why}; its figures are of the "
        "others"
    )
