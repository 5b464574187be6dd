"""The result of `motet.simulate`: tables and figures of one run or of several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.cli.simulate.run_names import run_names_of
from motet.interfaces.simulations.figures import RunFigures
from motet.interfaces.simulations.flat_columns import flat_columns
from motet.interfaces.simulations.simulated_run import SimulatedRun, write_with_decisions
from motet.report.cluster_run.columns import PLACEMENT_COLUMNS
from motet.report.cluster_run.record import ClusterRun
from motet.report.figures.gantt import gantt_figure
from motet.report.rendering.html import html_figure, html_page, html_table
from motet.report.rendering.quantities import count_text, quantity
from motet.report.simulation.folder import RunOutput, SimulationFolder
from motet.report.simulation.stored_run import StoredRun
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
from motet.sim.metrics.results import SimulationResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_AT_THE_END = ("trace_sha256", "events", "decisions", "wall_s", "compile_s")
_SHOWN = {
    "JCT mean": "jct_mean_s",
    "median": "jct_median_s",
    "95th": "jct_p95_s",
    "delay": "queueing_delay_mean_s",
    "makespan": "makespan_s",
}


class SimulatedRuns(RunFigures):
    """The runs of one `motet.simulate`, one per policy and seed; what users read and plot.

    `result["fifo"]` are the runs of one policy; iteration gives every run as a `SimulatedRuns` of
    its own.
    """

    def __init__(self, trace: str, cluster: str, runs: Sequence[SimulatedRun]) -> None:
        """`trace`, `cluster`: as they were given, for headings."""
        self._trace = trace
        self._cluster = cluster
        self._runs = tuple(runs)

    @property
    def runs(self) -> list[SimulationResult]:
        """Every run in the simulator's own form; `outcome` has all times in whole microseconds."""
        return [each.result for each in self._runs]

    @property
    def policies(self) -> list[str]:
        """Names, or labels, of the policies."""
        return list(dict.fromkeys(result.policy for result in self.runs))

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return list(dict.fromkeys(result.seed for result in self.runs))

    @cached_property
    def summary(self) -> DataFrame:
        """A row per run, with the policy as index: completion times, delays, fairness.

        Columns are those of `motet simulate --json`, flat, with the unit at the end: `jct_mean_s`,
        `queueing_delay_p95_s`, `finish_time_fairness_max`, `gpu_utilization` (a share), ...
        """
        import pandas as pd

        table = pd.DataFrame([_row(result) for result in self.runs])
        names = [name for name in table.columns if name not in _AT_THE_END]
        return table[[*names, *_AT_THE_END]].set_index("policy")

    @cached_property
    def jobs(self) -> DataFrame:
        """A row per run and job: policy, seed and the columns of `jobs.csv`.

        Times in seconds, NaN where unknown.
        """
        return self._joined([result.jobs for result in self.runs])

    @cached_property
    def placements(self) -> DataFrame:
        """A row per run, job, machine and period: which GPUs a job held, and when (seconds)."""
        import pandas as pd

        columns = list(PLACEMENT_COLUMNS)
        tables = [pd.DataFrame(result.placement_rows(), columns=columns) for result in self.runs]
        times = {"start_time": float, "end_time": float}
        return self._joined([table.astype(times) for table in tables])

    def plot_gantt(self) -> Figure:
        """Jobs on the GPUs of every machine over time, of a single run. Raises BadInput."""
        only = self._only("plot_gantt()").result
        return gantt_figure(only.policy, only.placements)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the files of `motet simulate --out`, for `motet compare` and spreadsheets.

        `overwrite` replaces the files of an earlier simulation. Raises BadInput if others would be
        lost, or if another run writes there at the moment.
        """
        outputs = self._outputs()
        names = [output.name for output in outputs]
        try:
            with locked_folder(Path(folder)):
                written = SimulationFolder(Path(folder), names, overwrite=overwrite)
                written.write(outputs, self._setup())
        except BadInput as error:
            message = str(error).removeprefix("--out ")
            raise BadInput(message.replace("add --overwrite", "pass overwrite=True")) from None

    def __getitem__(self, policy: str) -> SimulatedRuns:
        """The runs of one policy, all seeds. Raises UnknownName."""
        found = [each for each in self._runs if each.result.policy == policy]
        if not found:
            raise UnknownName("policy of this result", str(policy), self.policies)
        return SimulatedRuns(self._trace, self._cluster, found)

    def __iter__(self) -> Iterator[SimulatedRuns]:
        return (SimulatedRuns(self._trace, self._cluster, [each]) for each in self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        seeds = f", {count_text(len(self.seeds), 'seed')}" if len(self.seeds) > 1 else ""
        finished = sum(int(result.outcome.is_finished.sum()) for result in self.runs)
        jobs = sum(len(result.outcome.workload) for result in self.runs)
        names = ", ".join(self.policies)
        return (
            f"<{type(self).__name__}: {names} on {self._cluster}{seeds}; "
            f"{finished:,} of {jobs:,} jobs finished>"
        )

    def _repr_html_(self) -> str:
        """A table and the figure of completion times, for notebooks."""
        has_seeds = len(self.seeds) > 1
        header = ["policy", *(["seed"] if has_seeds else []), *_SHOWN, "GPUs used", "preemptions"]
        rows = [
            [
                str(policy),
                *([str(row["seed"])] if has_seeds else []),
                *(quantity(row[name]) for name in _SHOWN.values()),
                f"{row['gpu_utilization']:.0%}",
                f"{row['preemptions']:,}",
            ]
            for policy, row in self.summary.iterrows()
        ]
        jobs = count_text(len(self.runs[0].outcome.workload), "job")
        heading = f"{jobs} of {os.path.basename(self._trace)} on {self._cluster}; times in seconds"
        return html_page(heading, html_table(header, rows), html_figure(self.plot_jct_cdf()))

    @property
    def _cluster_runs(self) -> Sequence[ClusterRun]:
        return [result.cluster_run for result in self.runs]

    def _only(self, purpose: str) -> SimulatedRun:
        if len(self._runs) > 1:
            example = f"result[{self.policies[0]!r}]"
            if len(self.policies) == 1:
                example = "list(result)[0]"
            raise BadInput(
                f"{purpose} shows one run, and this result has {len(self._runs)}; choose one: "
                f"{example}"
            )
        return self._runs[0]

    def _outputs(self) -> list[RunOutput]:
        experiments = [each.task.experiment for each in self._runs]
        return [
            each.output(name)
            for name, each in zip(run_names_of(experiments), self._runs, strict=True)
        ]

    def _setup(self) -> dict[str, Any]:
        scenario = self._runs[0].task.scenario
        machines = scenario.cluster
        return {
            "command": ["motet.simulate"],
            "trace": self._trace,
            **({"time_zero": scenario.zero.isoformat()} if scenario.zero else {}),
            "cluster": self._cluster,
            "machines": machines.size,
            "gpus": machines.gpu_count,
        }

    def _joined(self, tables: Sequence[DataFrame]) -> DataFrame:
        import pandas as pd

        for table, result in zip(tables, self.runs, strict=True):
            table.insert(0, "policy", result.policy)
            table.insert(1, "seed", result.seed)
        return pd.concat(tables, ignore_index=True)


def stored_runs_of(result: SimulatedRuns) -> list[StoredRun]:
    """The runs as if read from a folder, for comparisons."""
    return [
        StoredRun(run.summary, run.cluster_run, result._trace, result._cluster)
        for run in result.runs
    ]


def write_only_run(result: SimulatedRuns, folder: Path) -> str:
    """Simulate the only run again with a decision log, into a folder; returns its label.

    Raises BadInput if there are several runs, or if the policy decides otherwise this time.
    """
    only = result._only("explain(...)")
    write_with_decisions(only, folder, result._setup())
    return only.result.policy


def _row(result: SimulationResult) -> dict[str, Any]:
    document = {name: value for name, value in result.summary.items() if name != "params"}
    return flat_columns(document)
