"""Evidence for SLAQ: losses beside those under fair shares, while GPUs go where they fall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.contest_figures import Band, Words, draw_bands
from support.contests import REDUCTIONS, Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.pages import put_into, table

PAGE = ROOT / "docs" / "systems" / "slaq.md"
STATIC = ROOT / "docs" / "_static"
CLUSTERS = ("20x32", "15x32", "10x32")
SHOWN = 1
"""The cluster whose curves are drawn."""

TICKS_S = (2, 5, 10, 20, 50, 100, 200)

FREE = ("preemption_cost=0",)
"""SLAQ's jobs change their cores between two iterations."""

CONTENDERS = (Contender.plain("fair"), Contender.plain("slaq"))
RATIOS = {
    "average loss of active jobs": (("quality", "average_normalised_loss"), "0.27"),
    "time to 90 % of a job's reduction": (("quality", "time_to_90_s"), "0.55"),
    "time to 95 %": (("quality", "time_to_95_s"), "0.70"),
    "average JCT": (("jct_s", "mean"), ""),
}
GROUPS = {
    "the quarter with the highest losses": ("highest_quarter", ("", "0.60")),
    "the half with the lowest": ("lowest_half", ("", "0.22")),
}


def contests(seeds: Sequence[int]) -> list[Contest]:
    """The paper's workload on three clusters."""
    return [Contest(Scene("slaq-160", size, FREE), CONTENDERS, seeds) for size in CLUSTERS]


def write(found: Sequence[Results], script: str, heading: str) -> None:
    """Tables and figures into the page."""
    seeds = len(found[0].runs["slaq"])
    parts = [
        f"""## Evidence

`make evidence`: 160 jobs, one every 15 s on average, {seeds} seeds with Student's 95 % interval of
the mean. Ratios are slaq / fair, losses 1 at a job's first step and 0 at its lowest.""",
        _table(found),
        f"![Average normalised loss on {CLUSTERS[SHOWN]}](../_static/slaq-loss.png)",
        "![Time to every part of a job's reduction](../_static/slaq-times.png)",
    ]
    _draw(found[SHOWN])
    put_into(PAGE, "\n\n".join(parts), script, heading)
    print(f"written: {PAGE}")


def _table(found: Sequence[Results]) -> str:
    rows = [
        [name, *(plus_minus(it.ratio("slaq", "fair", *keys)) for it in found), paper]
        for name, (keys, paper) in RATIOS.items()
    ]
    rows += [
        [f"cores of {name}, `{one.label}`", *_group(found, one.label, group), paper]
        for name, (group, papers) in GROUPS.items()
        for one, paper in zip(CONTENDERS, papers, strict=True)
    ]
    return table(["", *CLUSTERS, "the paper"], rows)


def _group(found: Sequence[Results], label: str, group: str) -> list[str]:
    keys = ("quality", "gpu_share_by_loss", group)
    return [plus_minus(each.mean(label, *keys)) for each in found]


def _draw(results: Results) -> None:
    losses, times = {}, {}
    for label, by_seed in results.runs.items():
        curves = [run["curves"] for run in by_seed.values()]
        minutes = np.mean([np.array(it["time_s"]) for it in curves], axis=0) / 60
        losses[label] = Band(
            minutes.tolist(), np.array([it["normalised_loss"] for it in curves], dtype=float)
        )
        reached = np.array([it["time_to_reduction_s"] for it in curves])
        times[label] = Band([100 * part for part in REDUCTIONS], reached)
    scene = results.scene.name
    note = f"{scene}, mean over the jobs that are there; the first job begins at 1"
    words = Words("Average normalised loss", note, "minutes, to the last submission", "")
    draw_bands(words, losses, STATIC / "slaq-loss.png", ylim=(0, 0.2))
    note = f"{scene}, mean over all jobs, from submission"
    words = Words("Time to a part of the reduction", note, "% of a job's reduction", "seconds")
    draw_bands(
        words,
        times,
        STATIC / "slaq-times.png",
        yscale="log",
        yticks=TICKS_S,
        yticklabels=map(str, TICKS_S),
    )
