"""Evidence for weighed predictions: SLAQ and Optimus with `predictions=weighed` beside `paper`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motet.sim.curves import LossCurve, bundled_curve
from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.elastic import ElasticRecipe, SlaqJobs
from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.network_curves import network_curves
from support.pages import put_into, table
from support.training_curves import training_curves

PAGE = ROOT / "docs" / "reference" / "loss-curves.md"
FREE = ("preemption_cost=0",)
BUNDLED = ("charlm-shakespeare-per10steps", "mf-sgd-ml100k", "mlp-mnist10k")
TRAINED = ("digits_network", "digits_nmf")

Contenders = tuple[Contender, Contender]
"""As in the paper, and weighed."""
SLAQ: Contenders = (
    Contender.plain("slaq"),
    Contender("weighed", "slaq", ("predictions=weighed",)),
)
BALANCED = "server_balance=paa"
OPTIMUS: Contenders = (
    Contender("optimus", "optimus", (BALANCED,)),
    Contender("weighed", "optimus", (BALANCED, "predictions=weighed")),
)
METRICS: Mapping[str, tuple[str, ...]] = {
    "average loss": ("quality", "average_normalised_loss"),
    "time to 90 %": ("quality", "time_to_90_s"),
    "time to 95 %": ("quality", "time_to_95_s"),
    "average JCT": ("jct_s", "mean"),
    "makespan": ("makespan_s",),
}


def contests(seeds: Sequence[int]) -> list[Contest]:
    """Convex and other curves, a crowded cluster and a more crowded one."""
    found = []
    for size in ("15x32", "10x32"):
        others = Scene("slaq-160-not-convex", size, FREE, _not_convex())
        found += [Contest(scene, SLAQ, seeds) for scene in (others, Scene("slaq-160", size, FREE))]
    for size in ("13x8", "8x8"):
        found.append(Contest(Scene("optimus-50", size, FREE), OPTIMUS, seeds))
    return found


def _not_convex() -> ElasticRecipe:
    digits = training_curves()
    losses = network_curves() | {name: digits[name] for name in TRAINED}
    curves = [LossCurve(name, values) for name, values in losses.items()]
    curves += [bundled_curve(name) for name in BUNDLED]
    return ElasticRecipe(160, Poisson(15.0), SlaqJobs(curves=tuple(curves)))


def write(found: Sequence[Results], script: str, heading: str) -> None:
    """The table into the page."""
    seeds = len(found[0].runs["weighed"])
    rows = [[each.scene.name, *(_ratio(each, keys) for keys in METRICS.values())] for each in found]
    section = f"""### Weighed predictions

`make evidence`: `predictions=weighed` / `predictions=paper`, below 1 it is better; {seeds} seeds
with Student's 95 % interval of the mean ratio. `slaq-160-not-convex`: the jobs of `slaq-160`, with
the twelve curves that are not convex (SLAQ); `optimus-50` ends at a loss (Optimus).

{table(["", *METRICS], rows)}"""
    put_into(PAGE, section, script, heading)
    print(f"written: {PAGE}")


def _ratio(results: Results, keys: Sequence[str]) -> str:
    base = next(label for label in results.runs if label != "weighed")
    return plus_minus(results.ratio("weighed", base, *keys))
