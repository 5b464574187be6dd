"""`helios-year`: a million jobs in a year, in the published shape of SenseTime's Helios clusters.

Hu et al., Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters
(SC 2021, section 3): a GPU job runs for 206 s in the median and 6,652 s on average, on 3.72 GPUs on
average; more than half of the jobs use one GPU, and the sizes are powers of two. A log-normal
distribution has these two durations with sigma = sqrt(2 ln(6652 / 206)) = 2.64; the longest jobs
are cut at 50 days, so that no job outlasts the year.

Assumptions: the shares of the sizes beyond one GPU, gaps without a daily pattern, models that are
not known, and one queue. 128 machines of 8 GPUs are then busy for two thirds of the time.
"""

from __future__ import annotations

from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.durations import LogNormal
from motet.sim.generate.mix import Mix
from motet.sim.generate.workload import Recipe

_SIZES = ((1, 600), (2, 90), (4, 92), (8, 170), (16, 30), (32, 14), (64, 4))
_MEDIAN_S, _SIGMA, _LONGEST_S = 206.0, 2.64, 50 * 86_400.0
_MEAN_GAP_S = 31.5

HELIOS_RECIPES = {
    "helios-year": Recipe(
        1_000_000,
        Mix(_SIZES, models=("",)),
        Poisson(_MEAN_GAP_S),
        LogNormal(_MEDIAN_S, _SIGMA, _LONGEST_S),
    )
}
