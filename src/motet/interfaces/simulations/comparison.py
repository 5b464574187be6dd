"""`motet.compare`: policies side by side, as ratios to the first one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.domain.errors import BadInput
from motet.interfaces.python_messages import python_arguments
from motet.interfaces.simulations.figures import RunFigures
from motet.interfaces.simulations.flat_columns import flat_columns
from motet.interfaces.simulations.runs import SimulatedRuns, stored_runs_of
from motet.report.cluster_run.job_pairs import concatenate_pairs
from motet.report.cluster_run.record import ClusterRun
from motet.report.figures.job_ratios import job_times_figure, sooner_and_later_figure
from motet.report.rendering.html import html_figure, html_page, html_table
from motet.report.rendering.quantities import count_text, quantity
from motet.report.simulation.comparison_notes import comparison_warnings
from motet.report.simulation.group_estimates import Estimate
from motet.report.simulation.job_ratios import JobRatios
from motet.report.simulation.metric_tables import ratio_text
from motet.report.simulation.seed_groups import (
    JCT_STATISTICS,
    PairedGroups,
    paired_with_first,
    seed_groups,
)
from motet.report.simulation.stored_run import StoredRun, read_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class PolicyComparison(RunFigures):
    """Policies side by side. A ratio of 2 means twice as long as under the first policy."""

    def __init__(self, groups: Sequence[PairedGroups]) -> None:
        """`groups`: the first one paired with itself, then the others."""
        self._groups = tuple(groups)

    @property
    def policies(self) -> list[str]:
        """Labels of the policies; ratios are to the first one."""
        return [group.other.label for group in self._groups]

    @property
    def warnings(self) -> list[str]:
        """Why ratios may mean little: runs with other costs of a restart."""
        return comparison_warnings(self._groups)

    @cached_property
    def table(self) -> DataFrame:
        """A row per policy, with its label as index: means over the seeds, and ratios.

        `relative_jct_mean`: completion times relative to the first policy; `..._half_width`: of the
        95 % interval, where there are several seeds. `jobs_sooner`, `jobs_later`: jobs that finish
        more than 1 % sooner, or later, than under the first policy.
        """
        import pandas as pd

        rows = [{**flat_columns(_numbers(group)), **_moved(group)} for group in self._groups]
        table = pd.DataFrame(rows, index=pd.Index(self.policies, name="policy"))
        return table.dropna(axis="columns", how="all")

    @cached_property
    def jobs(self) -> DataFrame:
        """A row per policy, seed and job that finished in both runs.

        `jct`: completion time in seconds; `first_jct`: that under the first policy; `ratio`.
        """
        import pandas as pd

        columns = ("policy", "seed", "job_id", "jct", "first_jct")
        rows = [
            (group.other.label, seed, *job)
            for group in self._groups
            for seed, pairs in group.job_pairs().items()
            for job in zip(pairs.ids, pairs.after_s, pairs.before_s, strict=True)
        ]
        table = pd.DataFrame(rows, columns=list(columns))
        return table.assign(ratio=table["jct"] / table["first_jct"])

    def plot_job_times(self) -> Figure:
        """Completion times of the same jobs: a dot per job for two policies, else bars of the
        numbers of jobs that finish sooner and later. Raises BadInput for a single policy."""
        if len(self._groups) < 2:
            raise BadInput("plot_job_times() needs at least two policies to compare")
        ratios = [group.job_ratios() for group in self._groups[1:]]
        if len(ratios) > 1:
            moved = [(each.policy, each.sooner, each.later, each.jobs) for each in ratios]
            return sooner_and_later_figure(ratios[0].against, moved)
        pairs = concatenate_pairs(list(self._groups[1].job_pairs().values()))
        return job_times_figure(ratios[0].against, ratios[0].policy, pairs)

    def __repr__(self) -> str:
        first, *others = self.policies
        return f"<{type(self).__name__}: {', '.join(others) or 'nothing'} against {first}>"

    def _repr_html_(self) -> str:
        """A table and the figure of completion times, for notebooks."""
        rows = [_shown(group) for group in self._groups]
        header = ["policy", "JCT mean", "x mean", "x median", "x 95th", "sooner", "later"]
        notes = "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings)
        seeds = max(len(group.other.runs) for group in self._groups)
        means = f"; means of {count_text(seeds, 'seed')}" if seeds > 1 else ""
        first = self.policies[0]
        heading = (
            f"Completion times in seconds{means}; x: times those under {first}; sooner, later: "
            "jobs that moved by more than 1 %"
        )
        figure = html_figure(self.plot_jct_cdf())
        return html_page(heading, notes, html_table(header, rows), figure)

    @property
    def _cluster_runs(self) -> Sequence[ClusterRun]:
        return [run.cluster_run for group in self._groups for run in group.other.runs.values()]


@python_arguments
def compare(*results: SimulatedRuns | str | os.PathLike[str]) -> PolicyComparison:
    """Compare policies of one result, or of several, relative to the first policy.

    `results`: results of `simulate`, or folders that `motet simulate --out DIR` or
    `SimulatedRuns.save` wrote. Runs with the same seed are paired. Raises BadInput
    for runs of different jobs, NotFound.

    >>> motet.compare(motet.simulate("tiresias-480", policy=["fifo", "tiresias-las"])).table
    """
    if not results:
        raise BadInput("compare() needs a result of simulate, or a folder with one")
    found = [part for number, each in enumerate(results, 1) for part in _runs_of(number, each)]
    return PolicyComparison(paired_with_first(seed_groups(found)))


def _runs_of(number: int, result: object) -> list[tuple[Path, StoredRun]]:
    """Runs with the folder that tells equal labels apart."""
    if isinstance(result, SimulatedRuns):
        return [(Path(f"result {number}"), run) for run in stored_runs_of(result)]
    if isinstance(result, str | os.PathLike):
        return [(Path(result), run) for run in read_runs(Path(result))]
    raise BadInput(
        f"compare: argument {number} is {result!r:.60}; give results of simulate, or folders that "
        "'motet simulate --out DIR' wrote, each as an argument"
    )


def _numbers(group: PairedGroups) -> dict[str, Any]:
    document = group.as_dict()
    return {
        "seeds": len(document.pop("seeds")),
        **{name: it for name, it in document.items() if name not in ("label", "paired_seeds")},
    }


def _moved(group: PairedGroups) -> dict[str, int]:
    ratios = group.job_ratios()
    return {"jobs_sooner": ratios.sooner, "jobs_later": ratios.later, "jobs_in_both": ratios.jobs}


def _shown(group: PairedGroups) -> list[str]:
    estimates, ratios = group.estimates, group.job_ratios()
    mean: Estimate = estimates.estimate(("jct_s", "mean"))
    relative = (ratio_text(estimates.relative(("jct_s", name))) for name in JCT_STATISTICS)
    return [group.other.label, quantity(mean.mean), *relative, *_counts(ratios)]


def _counts(ratios: JobRatios) -> list[str]:
    return [f"{ratios.sooner:,}", f"{ratios.later:,}"]
