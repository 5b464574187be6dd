"""Every policy on every workload: one page of tables."""

from __future__ import annotations

from collections.abc import Sequence

from motet.report.simulation.group_estimates import Estimate
from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.pages import put_into, table

PAGE = ROOT / "docs" / "systems" / "side-by-side.md"
COST = ("preemption_cost=10",)
SCENES = (
    Scene("slaq-160", "15x32", COST),
    Scene("optimus-50", "13x8", COST),
    Scene("themis-100", "16x4", COST),
    Scene("tiresias-480", "15x4", COST),
)
CONTENDERS = (
    Contender.plain("fair"),
    Contender.plain("drf"),
    Contender.plain("tetris"),
    Contender("round-robin", "gandiva", ("packing=false", "migration=false", "quantum_s=600")),
    Contender.plain("tiresias-las"),
    Contender.plain("gandiva"),
    Contender.plain("srtf"),
    Contender("slaq", "slaq", ("rescale_s=10",)),
    Contender("optimus", "optimus", ("rescale_s=100",)),
    Contender.plain("themis"),
)
COLUMNS: dict[str, tuple[tuple[str, ...], int, bool]] = {
    "JCT, s": (("jct_s", "mean"), 0, True),
    "experiments, s": (("experiment_s",), 0, True),
    "makespan, s": (("makespan_s",), 0, True),
    "max rho": (("finish_time_fairness", "max"), 2, True),
    "Jain of rho": (("finish_time_fairness", "jain"), 2, False),
    "placement score": (("placement_score",), 2, False),
    "average loss": (("quality", "average_normalised_loss"), 3, True),
    "to 90 %, s": (("quality", "time_to_90_s"), 0, True),
    "preempted": (("preemptions",), 0, True),
    "rescaled": (("quality", "rescales"), 0, True),
}
"""Where in a run's document, how many digits, whether less is better."""

UNRATED = ("preempted", "rescaled")


def contests(seeds: Sequence[int]) -> list[Contest]:
    """All on all."""
    return [Contest(scene, CONTENDERS, seeds) for scene in SCENES]


def write(found: Sequence[Results], script: str, heading: str) -> None:
    """A table per workload."""
    parts = []
    for results in found:
        parts += [f"## {results.scene.trace} on {results.scene.cluster}", _table(results)]
    put_into(PAGE, "\n\n".join(parts), script, heading)
    print(f"written: {PAGE}")


def _table(results: Results) -> str:
    shown = [name for name in COLUMNS if _is_told(results, name)]
    columns = [_column(results, name) for name in shown]
    labels = [f"`{each.label}`" for each in CONTENDERS]
    return table(["", *shown], zip(labels, *columns, strict=True))


def _column(results: Results, name: str) -> list[str]:
    """The best in bold."""
    keys, digits, is_less_better = COLUMNS[name]
    found: list[Estimate] = [results.mean(each.label, *keys) for each in CONTENDERS]
    means = [each.mean for each in found]
    best = min(means) if is_less_better else max(means)
    texts = [plus_minus(each, digits) for each in found]
    if name in UNRATED:
        return texts
    return [
        f"**{text}**" if mean == best else text for text, mean in zip(texts, means, strict=True)
    ]


def _is_told(results: Results, name: str) -> bool:
    """Rigid jobs have no losses; of jobs alone nothing is said twice."""
    keys = COLUMNS[name][0]
    if name == "experiments, s" and not _has_searches(results):
        return False
    documents = [run for by_seed in results.runs.values() for run in by_seed.values()]
    if not all(keys[0] in document for document in documents):
        return False
    values = [value for label in results.runs for value in results.values(label, *keys)]
    return not any(value != value for value in values)


def _has_searches(results: Results) -> bool:
    return any(
        results.values(label, "experiment_s") != results.values(label, "jct_s", "mean")
        for label in results.runs
    )
