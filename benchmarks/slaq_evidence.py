"""SLAQ against fair shares on its workload: 160 jobs, one every 15 s (Zhang et al., section 4).

Losses of different jobs are comparable once each is 1 at its first step and 0 at its lowest. The
paper: average loss 73 % lower, 90 % (95 %) of a job's reduction in 45 % (30 %) less time; of the
cores 60 % for the quarter of jobs with the highest losses, 22 % for the half with the lowest.

Each ratio is of one seed's two runs; beside its mean Student's 95 % interval over the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.cluster import Cluster
from motet.report.confidence import confidence_half_width
from motet.sim.experiment import Experiment
from motet.sim.generate.elastic import ELASTIC_RECIPES, generate_elastic
from motet.sim.outcome import Outcome
from motet.sim.quality import QualitySummary
from support.figures import Figure, parser, report

CLUSTERS = ("20x32", "15x32", "10x32")
MEASURES = {
    "average loss": ("average_normalised_loss", 0.27),
    "time to 90 %": ("time_to_90_s", 0.55),
    "time to 95 %": ("time_to_95_s", 0.70),
}
GROUPS = {"highest_quarter": 0.60, "lowest_half": 0.22}


def runs(seed: int, cluster: str) -> tuple[Outcome, Outcome]:
    """Under `fair` and under `slaq`."""
    workload = generate_elastic(ELASTIC_RECIPES["slaq-160"], np.random.default_rng(seed))
    fair, slaq = (
        Experiment(name).run(workload, Cluster.parse(cluster)) for name in ("fair", "slaq")
    )
    return fair, slaq


def figures_on(cluster: str, seeds: int) -> list[Figure]:
    """All measures on one cluster."""
    pairs = [runs(seed, cluster) for seed in range(seeds)]
    summaries = [[QualitySummary.of(each) for each in pair] for pair in pairs]
    found = []
    for name, (key, paper) in MEASURES.items():
        ratios = [getattr(slaq, key) / getattr(fair, key) for fair, slaq in summaries]
        found.append(figure(f"{cluster}: {name}, slaq / fair", ratios, paper))
    for group, paper in GROUPS.items():
        fair, slaq = ([pair[it].gpu_share_by_loss[group] for pair in summaries] for it in (0, 1))
        name = f"{cluster}: cores of the {group.replace('_', ' ')}"
        found.append(figure(f"{name}, slaq", slaq, paper))
        found.append(figure(f"{name}, fair", fair, None))
    return found


def figure(name: str, values: Sequence[float], paper: float | None) -> Figure:
    """The mean over seeds; nobody's gate."""
    mean, width = float(np.mean(values)), confidence_half_width(values)
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
