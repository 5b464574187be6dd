"""Evidence for Themis: finish-time fairness beside other policies, and what f and leases do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from support.contest_figures import Band, Words, draw_bands, draw_rho
from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.pages import put_into, table

PAGE = ROOT / "docs" / "systems" / "themis.md"
STATIC = ROOT / "docs" / "_static"
COST = ("preemption_cost=10",)
SCENES = (Scene("themis-100", "16x4", COST), Scene("tiresias-480", "15x4", COST))
RIVALS = ("tiresias-las", "gandiva", "optimus", "slaq", "srtf")
FILTERS = ("0", "0.2", "0.4", "0.6", "0.8", "0.9", "1")
LEASES_S = ("120", "300", "600", "1200", "2400")
CHOICES = (("waiting", "nothing"), ("lots", "outsiders"), ("leftovers", "anywhere"))
"""As in the paper, where the defaults are ours."""

RHO = "finish_time_fairness"
ELASTIC = (Scene("slaq-160", "20x32", COST), Scene("optimus-50", "13x8", COST))
BESIDE = (
    Contender.plain("themis"),
    Contender("themis, lease_s=120", "themis", ("lease_s=120",)),
    Contender.plain("fair"),
    Contender.plain("optimus"),
    Contender("tiresias-las, as gangs", "tiresias-las"),
)


def swept(name: str, values: Sequence[str]) -> list[Contender]:
    """Themis with every value."""
    return [Contender(f"{name}={value}", "themis", (f"{name}={value}",)) for value in values]


def contests(seeds: Sequence[int]) -> list[Contest]:
    """All policies and both sweeps on searches and on single jobs; elastic jobs."""
    themis = Contender.plain("themis")
    others = [Contender.plain(name) for name in RIVALS]
    sweeps = [*swept("fairness", FILTERS), *swept("lease_s", LEASES_S), *_choices()]
    rigid = [Contest(scene, [themis, *others, *sweeps], seeds) for scene in SCENES]
    return rigid + [Contest(scene, BESIDE, seeds) for scene in ELASTIC]


def _choices() -> list[Contender]:
    return [one for name, value in CHOICES for one in swept(name, [value])]


def write(found: Sequence[Results], script: str, heading: str) -> None:
    """Tables and figures into the page."""
    found, elastic = found[: len(SCENES)], found[len(SCENES) :]
    parts = [_setting(len(found[0].runs["themis"]))]
    for results in found:
        parts += [f"**{results.scene.name}**", _policies(results)]
    _draw_policies(found[0])
    parts.append("![Share of searches up to a finish-time fairness](../_static/themis-rho.png)")
    parts += ["### The effect of f and leases", _sweeps(found)]
    _draw_sweeps(found)
    parts.append("![Largest rho by lease](../_static/themis-lease.png)")
    parts.append("![Largest rho by who may bid](../_static/themis-filter.png)")
    parts += ["### Choices of the paper and of Motet", *(_of_choices([it]) for it in found)]
    parts += ["### Elastic jobs beside other policies", _beside(elastic)]
    put_into(PAGE, "\n\n".join(parts), script, heading)
    print(f"written: {PAGE}")


def _setting(seeds: int) -> str:
    return f"""## Evidence

`make evidence`: {seeds} seeds with Student's 95 % interval of the mean; every preemption costs 10 s
(the paper: 5 to 10). The time of an experiment is from its first
submission to the end of its last job; the next column is the time of single jobs."""


def _policies(results: Results) -> str:
    head = ["", "max rho", "mean", "Jain's index", "experiments, s", "jobs, s"]
    head += ["placement score", "preemptions"]
    rows = [
        [
            f"`{label}`",
            plus_minus(results.mean(label, RHO, "max")),
            plus_minus(results.mean(label, RHO, "mean")),
            plus_minus(results.mean(label, RHO, "jain")),
            plus_minus(results.mean(label, "experiment_s"), 0),
            plus_minus(results.mean(label, "jct_s", "mean"), 0),
            plus_minus(results.mean(label, "placement_score")),
            plus_minus(results.mean(label, "preemptions"), 0),
        ]
        for label in ("themis", *RIVALS)
    ]
    return table(head, rows)


def _sweeps(found: Sequence[Results]) -> str:
    head = ["", *(f"{it.scene.trace}: max rho" for it in found)]
    head += [f"{it.scene.trace}: experiments, s" for it in found]
    head += [f"{it.scene.trace}: preemptions" for it in found]
    rows = []
    for one in [*swept("fairness", FILTERS), *swept("lease_s", LEASES_S)]:
        row = [f"`{one.label}`"]
        row += [plus_minus(it.mean(one.label, RHO, "max")) for it in found]
        row += [plus_minus(it.mean(one.label, "experiment_s"), 0) for it in found]
        row += [plus_minus(it.mean(one.label, "preemptions"), 0) for it in found]
        rows.append(row)
    return table(head, rows)


Column = tuple[tuple[str, ...], int]


def _by_scene(
    found: Sequence[Results], labels: Mapping[str, str], columns: Mapping[str, Column]
) -> str:
    """`labels`: what stands in the table, and whose runs."""
    head = ["", *(f"{it.scene.trace}: {name}" for it in found for name in columns)]
    rows = [
        [
            shown,
            *(
                plus_minus(it.mean(label, *keys), digits)
                for it in found
                for keys, digits in columns.values()
            ),
        ]
        for shown, label in labels.items()
    ]
    return table(head, rows)


def _of_choices(found: Sequence[Results]) -> str:
    columns = {
        "max rho": ((RHO, "max"), 2),
        "Jain": ((RHO, "jain"), 2),
        "jobs, s": (("jct_s", "mean"), 0),
        "placement": (("placement_score",), 2),
        "preemptions": (("preemptions",), 0),
    }
    labels = ["themis", *(one.label for one in _choices())]
    return _by_scene(found, {f"`{label}`": label for label in labels}, columns)


def _beside(found: Sequence[Results]) -> str:
    columns = {
        "max rho": ((RHO, "max"), 2),
        "Jain": ((RHO, "jain"), 2),
        "JCT, s": (("jct_s", "mean"), 0),
        "rescales": (("quality", "rescales"), 0),
    }
    return _by_scene(found, {one.label: one.label for one in BESIDE}, columns)


def _draw_policies(results: Results) -> None:
    rho = {
        label: [rho for run in results.runs[label].values() for rho in run["curves"]["rho"]]
        for label in ("themis", *RIVALS)
    }
    words = Words("Finish-time fairness", f"{results.scene.name}, all seeds", "rho", "searches")
    draw_rho(words, rho, STATIC / "themis-rho.png")


def _draw_sweeps(found: Sequence[Results]) -> None:
    for name, values, title, axis in (
        ("lease_s", LEASES_S, "Shorter leases are fairer", "lease_s"),
        ("fairness", FILTERS, "Who may bid", "f: the part of the experiments that may not bid"),
    ):
        bands = {
            results.scene.trace: Band(
                [float(value) for value in values],
                np.array([results.values(one.label, RHO, "max") for one in swept(name, values)]).T,
            )
            for results in found
        }
        words = Words(title, "the experiment that was worst off", axis, "max rho")
        stem = "themis-lease" if name == "lease_s" else "themis-filter"
        draw_bands(words, bands, STATIC / f"{stem}.png", ylim=(0, None))
