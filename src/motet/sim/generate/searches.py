"""Workloads of hyper-parameter searches by successive halving, as Themis schedules them.

A search tries n = 2^k configurations as jobs of one model and size, submitted together, and stops
the worse half at each of k rungs (Jamieson and Talwalkar, AISTATS 2016): of full length D, n/2 jobs
end after D/n, n/4 after 2 D/n, ..., one after D/2, and the best after D. So every rung costs D/2,
and the whole search (k/2 + 1) D.

The generator draws the rung at which each job stops, and a job ends at its rung regardless of the
others' progress (asynchronous halving with correct predictions). The work of each job, and of the
whole search, is therefore the same under every policy.

`themis-100`: 100 searches for 16x4 GPUs, as in Themis' evaluation (Mahajan et al., NSDI 2020), with
few placement-sensitive models and many insensitive ones. Sizes, durations and gaps are assumptions;
the load is about 1, so queues grow and shrink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput
from motet.sim.generate.arrivals import Arrivals, Poisson
from motet.sim.generate.mix import TENSORFLOW_MODELS, whole_shares
from motet.sim.generate.workload import MOST_JOBS, whole_milliseconds
from motet.sim.workload.workload import Workload


@dataclass(frozen=True)
class SearchRecipe:
    """`halvings`: k, from 0 (a single job), equally often each. `gpus`: GPU counts of jobs, each
    with the weight of searches with such jobs. Full lengths are log-normal.
    """

    searches: int = 100
    arrivals: Arrivals = field(default_factory=lambda: Poisson(480.0))
    halvings: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    gpus: tuple[tuple[int, int], ...] = ((1, 2), (2, 3), (4, 4), (8, 1))
    median_s: float = 3600.0
    sigma: float = 0.7


def generate_searches(recipe: SearchRecipe, rng: np.random.Generator) -> Workload:
    """Draw a workload; the first search arrives at 0, job 7-3 is the third of search 7.

    Raises BadInput.
    """
    count = recipe.searches
    if not 1 <= count <= MOST_JOBS // 2 ** max(recipe.halvings):
        raise BadInput(f"--jobs {count}: must be 1 or more searches, and not above 100,000")
    for_halvings, for_gpus, for_models, for_lengths, for_ends, for_gaps = rng.spawn(6)
    halvings = _shuffled(recipe.halvings, [1] * len(recipe.halvings), count, for_halvings)
    sizes, weights = zip(*recipe.gpus, strict=True)
    gpus = _shuffled(sizes, weights, count, for_gpus)
    kinds = range(len(TENSORFLOW_MODELS))
    models = _shuffled(kinds, [1] * len(kinds), count, for_models)
    lengths_s = recipe.median_s * for_lengths.lognormal(0.0, recipe.sigma, count)
    gaps_s = np.concatenate([[0.0], recipe.arrivals.gaps_s(count - 1, for_gaps)])
    of = np.repeat(np.arange(count), 2**halvings)
    parts = np.concatenate([for_ends.permutation(rung_parts(each)) for each in halvings.tolist()])
    names = [f"search-{number}" for number in range(count)]
    return Workload.of(
        _ids(of),
        whole_milliseconds("--arrivals", np.cumsum(gaps_s))[of],
        np.maximum(whole_milliseconds("--durations", lengths_s[of] * parts), 1000),
        gpus[of],
        models=[TENSORFLOW_MODELS[model] for model in models[of].tolist()],
        experiments=[names[number] for number in of.tolist()],
    )


def rung_parts(halvings: int) -> Floats:
    """`(2**halvings,)`: fraction of its full length that each configuration runs, ascending."""
    configurations = 2**halvings
    survivors = 2 ** np.arange(halvings - 1, -1, -1)
    stopped = np.repeat(2.0 ** np.arange(halvings), survivors) / configurations
    return np.append(stopped, 1.0)


def _ids(of: Ints) -> list[str]:
    first = np.searchsorted(of, of)
    within = np.arange(len(of)) - first
    return [f"{one}-{other}" for one, other in zip(of.tolist(), within.tolist(), strict=True)]


def _shuffled(
    values: Sequence[int], weights: Sequence[int], count: int, rng: np.random.Generator
) -> Ints:
    """A random sequence of the values in proportion to their weights."""
    repeated = np.repeat(np.asarray(values, dtype=np.int64), whole_shares(count, weights))
    return rng.permutation(repeated)


SEARCH_RECIPES = {"themis-100": SearchRecipe()}
