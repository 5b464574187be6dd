"""Evidence for Optimus: beside DRF and Tetris, and what each of its three parts contributes."""

from __future__ import annotations

from collections.abc import Sequence

from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.pages import put_into, table

PAGE = ROOT / "docs" / "systems" / "optimus.md"
CLUSTERS = ("13x8", "8x8", "13x3")
COST = ("preemption_cost=10",)
DAMPED = "rescale_s=100"
PAA, MXNET = "server_balance=paa", "server_balance=mxnet"
SPREAD = ("spread_evenly=false", "placement=random")
RANDOM = "placement=random"

WHOLE = Contender("optimus", "optimus", (DAMPED, PAA))
BASELINES = {
    Contender("drf", "drf", (RANDOM, MXNET)): ("2.4", "1.6"),
    Contender("tetris", "tetris", (MXNET,)): ("", ""),
    Contender("fair", "fair", (RANDOM, MXNET)): ("", ""),
    Contender("drf, closest machines, balanced servers", "drf", (PAA,)): ("", ""),
}
"""With the paper's ratios of JCT and makespan."""

WITHOUT = {
    Contender("allocation: as `drf`", "drf", (PAA,)): "62 %",
    Contender("placement: at random", "optimus", (DAMPED, PAA, *SPREAD)): "17 %",
    Contender("load balance: as MXNet", "optimus", (DAMPED, MXNET)): "20 %",
}
"""One part replaced, and what the paper says that it contributes."""


def contests(seeds: Sequence[int]) -> list[Contest]:
    """Everybody on every cluster."""
    everybody = list(dict.fromkeys([WHOLE, *BASELINES, *WITHOUT]))
    return [Contest(Scene("optimus-50", size, COST), everybody, seeds) for size in CLUSTERS]


def write(found: Sequence[Results], script: str, heading: str) -> None:
    """Two tables into the page."""
    parts = [
        f"""## Evidence

`make evidence`: 50 jobs over 12,000 s, {len(found[0].runs[WHOLE.label])} seeds with Student's 95 %
interval of the mean; a rescale costs 10 s, `optimus` runs with `{DAMPED}` and
`{PAA}`; `drf`, `fair` and `tetris` as a cluster without Optimus would be: servers balanced as by
MXNet, machines (but `tetris`', which chooses its own) at random. Ratios to `optimus`, above 1:
Optimus is faster.""",
        _ratios(found),
        """What is lost where one part is replaced, in JCT:""",
        _contributions(found),
    ]
    put_into(PAGE, "\n\n".join(parts), script, heading)
    print(f"written: {PAGE}")


def _ratios(found: Sequence[Results]) -> str:
    head = ["against optimus", *(f"{it.scene.cluster}: JCT" for it in found)]
    head += [*(f"{it.scene.cluster}: makespan" for it in found), "paper: JCT", "makespan"]
    rows = []
    for one, paper in BASELINES.items():
        ratios = [
            plus_minus(it.ratio(one.label, WHOLE.label, *keys))
            for keys in (("jct_s", "mean"), ("makespan_s",))
            for it in found
        ]
        rows.append([_code(one), *ratios, *paper])
    return table(head, rows)


def _contributions(found: Sequence[Results]) -> str:
    rows = []
    for one, paper in WITHOUT.items():
        more = [it.ratio(one.label, WHOLE.label, "jct_s", "mean") for it in found]
        texts = [f"{100 * (it.mean - 1):.0f} ±{100 * (it.half_width or 0):.0f} %" for it in more]
        rows.append([one.label, *texts, paper])
    return table(["replaced", *(it.scene.cluster for it in found), "the paper"], rows)


def _code(one: Contender) -> str:
    name, comma, rest = one.label.partition(",")
    return f"`{name}`{comma}{rest}"
