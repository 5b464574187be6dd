"""SLAQ against fair shares on its workload: 160 jobs, one every 15 s (Zhang et al., section 4).

Losses of different jobs are comparable once each is 1 at its first step and 0 at its lowest. The
paper: average loss 73 % lower, 90 % (95 %) of a job's reduction in 45 % (30 %) less time; of the
cores 60 % for the quarter of jobs with the highest losses, 22 % for the half with the lowest.

Each ratio is of one seed's two runs; beside its mean Student's 95 % interval over the seeds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.domain.cluster import Cluster
from motet.report.confidence import confidence_half_width
from motet.sim.experiment import Experiment
from motet.sim.generate.elastic import ELASTIC_RECIPES, generate_elastic
from motet.sim.outcome import Outcome
from motet.sim.quality import QualitySummary, normalised_losses
from support.figures import Figure, parser, report

Floats = NDArray[np.float64]
CLUSTERS = ("20x32", "15x32", "10x32")
MEASURES = {
    "average loss": ("average_normalised_loss", 0.27),
    "time to 90 %": ("time_to_90_s", 0.55),
    "time to 95 %": ("time_to_95_s", 0.70),
}
GROUPS = {"highest quarter": (0.0, 0.25, 0.60), "lowest half": (0.5, 1.0, 0.22)}
MOMENTS = 400


def runs(seed: int, cluster: str) -> tuple[Outcome, Outcome]:
    """Under `fair` and under `slaq`."""
    workload = generate_elastic(ELASTIC_RECIPES["slaq-160"], np.random.default_rng(seed))
    fair, slaq = (
        Experiment(name).run(workload, Cluster.parse(cluster)) for name in ("fair", "slaq")
    )
    return fair, slaq


def core_shares(outcome: Outcome) -> Floats:
    """`(groups,)`: of all cores in use, those of each group of jobs by their loss, over the time
    of submissions."""
    submit_us = outcome.workload.submit_us
    times_us = np.linspace(int(submit_us[0]), int(submit_us[-1]), MOMENTS).astype(np.int64)
    cores, losses = cores_at(outcome, times_us), normalised_losses(outcome, times_us)
    used = np.zeros(len(GROUPS))
    for moment in range(MOMENTS):
        there = np.flatnonzero(~np.isnan(losses[:, moment]))
        order = there[np.argsort(-losses[there, moment], kind="stable")]
        for group, (begin, end, _) in enumerate(GROUPS.values()):
            rows = order[round(begin * len(order)) : round(end * len(order))]
            used[group] += cores[rows, moment].sum()
    shares: Floats = used / cores.sum()
    return shares


def cores_at(outcome: Outcome, times_us: NDArray[np.int64]) -> Floats:
    """`(jobs, times)`: workers with which each trained."""
    trained, found = outcome.trained, np.zeros((len(outcome.workload), len(times_us)))
    columns = (trained.job, trained.start_us, trained.end_us, trained.workers)
    for job, start_us, end_us, workers in zip(*(each.tolist() for each in columns), strict=True):
        found[job, (start_us <= times_us) & (times_us < end_us)] = workers
    return found


def figures_on(cluster: str, seeds: int) -> list[Figure]:
    """All measures on one cluster."""
    pairs = [runs(seed, cluster) for seed in range(seeds)]
    summaries = [[QualitySummary.of(each) for each in pair] for pair in pairs]
    found = []
    for name, (key, paper) in MEASURES.items():
        ratios = [getattr(slaq, key) / getattr(fair, key) for fair, slaq in summaries]
        found.append(figure(f"{cluster}: {name}, slaq / fair", ratios, paper))
    shares = np.array([[core_shares(each) for each in pair] for pair in pairs])
    for group, (name, (_, _, paper)) in enumerate(GROUPS.items()):
        found.append(figure(f"{cluster}: cores of the {name}, slaq", shares[:, 1, group], paper))
        found.append(figure(f"{cluster}: cores of the {name}, fair", shares[:, 0, group], None))
    return found


def figure(name: str, values: list[float] | Floats, paper: float | None) -> Figure:
    """The mean over seeds; nobody's gate."""
    mean, width = float(np.mean(values)), confidence_half_width(list(values))
    beside = "" if paper is None else f"paper {paper:.2f}"
    return Figure(name, f"{mean:.2f} ±{width:.2f}", beside, mean)


def main() -> None:
    """Every cluster, all seeds."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    seeds = 2 if arguments.quick else 5
    figures = [figure for cluster in CLUSTERS for figure in figures_on(cluster, seeds)]
    report("slaq_evidence", f"SLAQ against fair shares, {seeds} seeds", figures, plot=False)


if __name__ == "__main__":
    main()
