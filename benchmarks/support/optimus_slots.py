"""Optimus on the slots of its paper's testbed, against schedulers as the paper describes them.

Seven machines have room for three workers or servers, six for one. What a worker computes per
second is not published, so it is swept: the slower it computes, the less the link matters. Jobs
take as long in every case, since their steps are scaled.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.elastic import ElasticRecipe, OptimusJobs
from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.pages import table

SLOTS = "optimus-slots"
GFLOPS = (15.0, 60.0, 240.0)
JOB_S = 1800.0
"""Median run time of a job alone: the slots are overloaded while jobs arrive."""

USUAL = 1
"""The column whose figures stand in the table of claims: our usual speed."""

DRF = str(ROOT / "benchmarks" / "policies" / "paired_drf.py")
SPREAD, PAA, MXNET = "placement=spread", "server_balance=paa", "server_balance=mxnet"
WHOLE = Contender("optimus", "optimus", (PAA,))
RIVALS = (
    Contender("pairs, kept to the end", DRF, ("static=true", SPREAD, MXNET)),
    Contender("pairs, resized", DRF, ("static=false", SPREAD, MXNET)),
    Contender("`drf`, resized and refilled", "drf", (SPREAD, MXNET)),
    Contender("`tetris`", "tetris", (SPREAD, MXNET)),
)
WITHOUT = {
    Contender("its allocation: pairs, kept to the end", DRF, ("static=true", PAA)): "62 %",
    Contender("its allocation: pairs, resized", DRF, ("static=false", PAA)): "62 %",
    Contender("its allocation: `drf`", "drf", (PAA,)): "62 %",
    Contender("its placement: spread", "optimus", (PAA, "spread_evenly=false", SPREAD)): "17 %",
    Contender("its load balance: `mxnet`", "optimus", (MXNET,)): "20 %",
}


def scene(gflops: float) -> Scene:
    """The paper's slots, with workers of this speed."""
    recipe = ElasticRecipe(50, Poisson(240.0), OptimusJobs(gflops, JOB_S))
    return Scene(f"optimus-50-{gflops:g}-{JOB_S:g}", SLOTS, ("preemption_cost=0",), recipe)


def contests(seeds: Sequence[int]) -> list[Contest]:
    """All policies at every speed."""
    everybody = [WHOLE, *RIVALS, *WITHOUT]
    return [Contest(scene(gflops), everybody, seeds) for gflops in GFLOPS]


def section(found: Sequence[Results]) -> str:
    """Two tables."""
    names = [_column(results.scene) for results in found]
    rows = [[one.label, *_ratios(found, one, "jct_s", "mean"), "2.4"] for one in RIVALS]
    rows += [
        [f"{one.label}: makespan", *_ratios(found, one, "makespan_s"), "1.6"] for one in RIVALS
    ]
    grown = [
        [one.label, *(growth(it, one) for it in found), paper] for one, paper in WITHOUT.items()
    ]
    return "\n\n".join(
        [
            f"""### On the paper's slots

The paper's testbed has seven machines with room for three workers or servers and six with room for
one. Its fairness scheduler gives each job as many servers as workers, and tasks are spread as by
Kubernetes; `benchmarks/policies/paired_drf.py` with `placement=spread` does the same. A column is a
computing speed of workers beside links of 1 Gbit/s; elsewhere on this page it is 60 Gflop/s. A job
alone takes {JOB_S:,.0f} s in the median in every column, and the slots are overloaded while jobs
arrive. {len(found[0].runs[WHOLE.label])} seeds. Above 1, Optimus is faster, first in JCT,
then in makespan.""",
            table(["against `optimus`", *names, "the paper"], rows),
            "Growth of JCT when a part is replaced, on these slots:",
            table(["without", *names, "the paper"], grown),
        ]
    )


def _column(scene: Scene) -> str:
    assert isinstance(scene.recipe, ElasticRecipe)
    assert isinstance(scene.recipe.draw, OptimusJobs)
    jobs = scene.recipe.draw
    return f"{jobs.worker_gflop_per_s:g} Gflop/s"


def _ratios(found: Sequence[Results], one: Contender, *keys: str) -> list[str]:
    return [plus_minus(it.ratio(one.label, WHOLE.label, *keys)) for it in found]


def growth(found: Results, one: Contender) -> str:
    """Of JCT without a part, in percent."""
    ratio = found.ratio(one.label, WHOLE.label, "jct_s", "mean")
    return f"{100 * (ratio.mean - 1):.0f} ±{100 * (ratio.half_width or 0):.0f} %"
