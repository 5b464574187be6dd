"""Evidence for Optimus: beside DRF and Tetris, and what each of its three parts contributes."""

from __future__ import annotations

from collections.abc import Sequence

from support import optimus_slots
from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.hosts import ROOT
from support.pages import put_into, table

PAGE = ROOT / "docs" / "systems" / "optimus.md"
CLUSTERS = ("13x8", "8x8", "13x3")
PAA, MXNET = "server_balance=paa", "server_balance=mxnet"
RANDOM = "placement=random"
AT_RANDOM = ("spread_evenly=false", RANDOM)

WHOLE = Contender("optimus", "optimus", (PAA,))
RIVALS = {
    Contender("drf", "drf", (RANDOM, MXNET)): ("2.4", "1.6"),
    Contender("tetris", "tetris", (MXNET,)): ("", ""),
    Contender("tiresias-las", "tiresias-las", (MXNET,)): ("", ""),
}
"""As a cluster without Optimus would be, with the paper's ratios of JCT and makespan."""

WITHOUT = {
    Contender("its allocation (`drf`)", "drf", (PAA,)): "62 %",
    Contender("its placement (at random)", "optimus", (PAA, *AT_RANDOM)): "17 %",
    Contender("its load balance (`mxnet`)", "optimus", (MXNET,)): "20 %",
    Contender("placement and load balance", "optimus", (MXNET, *AT_RANDOM)): "",
    Contender(
        "its placement, but `consolidate`",
        "optimus",
        (PAA, "spread_evenly=false", "placement=consolidate"),
    ): "",
}
"""Parts that are replaced, and what the paper says that they contribute."""

FREE = ("preemption_cost=0",)


def contests(seeds: Sequence[int]) -> list[Contest]:
    """Everybody on every cluster."""
    everybody = list(dict.fromkeys([WHOLE, *RIVALS, *WITHOUT]))
    on_sizes = [Contest(Scene("optimus-50", size, FREE), everybody, seeds) for size in CLUSTERS]
    return [*on_sizes, *optimus_slots.contests(seeds)]


def write(found: Sequence[Results], script: str, heading: str) -> None:
    """Tables into the page."""
    found, on_slots = found[: len(CLUSTERS)], found[len(CLUSTERS) :]
    parts = [
        f"""## Evidence

`make evidence`: 50 jobs over 12,000 s, {len(found[0].runs[WHOLE.label])} seeds with Student's 95 %
interval of the mean, rescaling free. `optimus` divides models as `{PAA}` says; the others run as on
a cluster without Optimus: servers balanced as by MXNet, and `drf` on machines at random. Above 1:
Optimus is faster.""",
        _ratios(found),
        """Growth of JCT when a part is replaced:""",
        _contributions(found),
        optimus_slots.section(on_slots),
    ]
    put_into(PAGE, "\n\n".join(parts), script, heading)
    print(f"written: {PAGE}")


def _ratios(found: Sequence[Results]) -> str:
    head = ["against `optimus`", *(f"{it.scene.cluster}: JCT" for it in found)]
    head += [*(f"{it.scene.cluster}: makespan" for it in found), "paper: JCT", "makespan"]
    rows = []
    for one, paper in RIVALS.items():
        ratios = [
            plus_minus(it.ratio(one.label, WHOLE.label, *keys))
            for keys in (("jct_s", "mean"), ("makespan_s",))
            for it in found
        ]
        rows.append([f"`{one.label}`", *ratios, *paper])
    return table(head, rows)


def _contributions(found: Sequence[Results]) -> str:
    rows = []
    for one, paper in WITHOUT.items():
        more = [it.ratio(one.label, WHOLE.label, "jct_s", "mean") for it in found]
        texts = [f"{100 * (it.mean - 1):.0f} ±{100 * (it.half_width or 0):.0f} %" for it in more]
        rows.append([one.label, *texts, paper])
    return table(["without", *(it.scene.cluster for it in found), "the paper"], rows)
