"""The section "Evidence" of the page about Cruise, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from motet.report.rendering.quantities import bytes_text
from support.auto_run import RECOVERY, AutoRun
from support.evidence import ErrorStatistics, Grid, Shape, predictions
from support.link_evidence import LinkEvidence
from support.pages import Row, table

CLOSE = 0.02
"""Spec: the chosen configuration's epoch is at most so much longer than the best one's."""
PAPER = {"nmf": "94-99 %", "mlr": "97.8 %", "lda": "100 %", "lasso": "100 %"}


@dataclass(frozen=True)
class Verdict:
    """A target and whether it was reached."""

    what: str
    is_met: bool

    def __str__(self) -> str:
        return f"{'ok  ' if self.is_met else 'MISS'} {self.what}"


def grid_table(grids: Mapping[str, Grid]) -> str:
    """Seconds per epoch of every configuration, the best one in bold, and the noise."""
    shapes = sorted({shape for grid in grids.values() for shape in grid.visits})
    head = ["epoch, s", *(f"{w}+{s}" for w, s in shapes), "noise"]
    rows = [
        [app, *(_cell(grid, shape) for shape in shapes), f"{grid.noise:.1%}"]
        for app, grid in grids.items()
    ]
    return table(head, rows)


def _cell(grid: Grid, shape: Shape) -> str:
    if shape not in grid.visits:
        return ""
    text = f"{grid.epoch_s(shape):.3g}"
    return f"**{text}**" if shape == grid.best else text


def choice_table(grids: Mapping[str, Grid], runs: Mapping[str, Mapping[Shape, AutoRun]]) -> str:
    """Where --auto went from each start, and how good that is."""
    head = ["", "start", "chosen", "best", "above the best"]
    head += ["epoch at the end", "saved", "paper, of the optimum"]
    rows = []
    for app, by_start in runs.items():
        for start, run in by_start.items():
            grid = grids[app]
            above = f"{grid.excess(run.final):.1%}" if run.final in grid.visits else "not in grid"
            rows.append(
                [
                    *(app, _shape(start), _shape(run.final), _shape(grid.best), above),
                    *(f"{run.final_s:.3g} s", f"{run.saved:.0%}", PAPER.get(app, "")),
                ]
            )
    return table(head, rows)


def choice_verdicts(
    grids: Mapping[str, Grid], runs: Mapping[str, Mapping[Shape, AutoRun]]
) -> list[Verdict]:
    """Within 2 % of the grid's best, and the noise of the difference of two epochs."""
    made = []
    for app, by_start in runs.items():
        grid = grids[app]
        limit = CLOSE + grid.noise
        for start, run in by_start.items():
            is_met = run.final in grid.visits and grid.excess(run.final) <= limit
            excess = grid.excess(run.final) if run.final in grid.visits else float("nan")
            what = f"{app} from {_shape(start)}: {excess:.1%} above the best, limit {limit:.1%}"
            made.append(Verdict(what, is_met))
    return made


def error_table(grids: Mapping[str, Grid]) -> str:
    """How far the cost model is from what was measured, fitted in one configuration."""
    head = ["error of the prediction", "measured in", "predicted", "median", "95th percentile"]
    rows = []
    for app, grid in grids.items():
        for start in (min(grid.visits), max(grid.visits)):
            errors = ErrorStatistics.of(predictions(grid, [start]))
            rows.append([app, _shape(start), *_errors(errors)])
    everything = [it for grid in grids.values() for it in predictions(grid, grid.visits)]
    rows.append(["all", "each of them", *_errors(ErrorStatistics.of(everything))])
    return table(head, rows)


def _errors(errors: ErrorStatistics) -> Row:
    return [f"{errors.count} others", f"{errors.median:.0%}", f"{errors.p95:.0%}"]


def change_table(runs: Mapping[str, Mapping[Shape, AutoRun]]) -> str:
    """Every reconfiguration."""
    head = ["", "from", "to", "took", "moved", "longest stall", "epoch predicted", "measured"]
    rows = []
    for app, by_start in runs.items():
        for run in by_start.values():
            for number, change in enumerate(run.changes):
                epochs_s = change.predicted_s, run.after(number)
                rows.append(
                    [
                        *(app, _shape(change.before), _shape(change.after)),
                        *(f"{change.plan_s:.1f} s", bytes_text(change.moved_bytes)),
                        f"{change.stall_s:.2f} s",
                        *("" if it is None else f"{it:.2f} s" for it in epochs_s),
                    ]
                )
    return table(head, rows)


def types_table(even: Grid, run: AutoRun, fast_hosts: int) -> str:
    """Even splits beside what --auto made of them."""
    head = ["", "configuration", "epoch", "data blocks, fast", "slow", "model blocks, fast", "slow"]
    last = run.epochs[-1]
    rows = []
    for name, shape in (("best on equal hosts", run.start), ("best even split", even.best)):
        visit = even.visits[shape][0]
        held = visit.data_blocks, visit.model_blocks
        rows.append(_types_row(name, shape, even.epoch_s(shape), held, fast_hosts))
    held = last.data_blocks, last.model_blocks
    rows.append(_types_row("--auto", run.final, run.final_s, held, fast_hosts))
    return table(head, rows)


def _types_row(
    name: str, shape: Shape, epoch_s: float, held: Sequence[Sequence[int]], fast_hosts: int
) -> Row:
    blocks = (_blocks(each, fast_hosts) for each in held)
    return [name, _shape(shape), f"{epoch_s:.2f} s", *chain.from_iterable(blocks)]


def shorter(even: Grid, run: AutoRun) -> float:
    """Than with even shares in the configuration that is best on equal hosts."""
    return 1 - run.final_s / even.epoch_s(run.start)


def _blocks(blocks: Sequence[int], fast_hosts: int) -> list[str]:
    return [", ".join(map(str, part)) for part in (blocks[:fast_hosts], blocks[fast_hosts:])]


def types_verdict(even: Grid, run: AutoRun) -> Verdict:
    """At least a quarter shorter epochs, than in the walk and than at its own beginning."""
    found = min(shorter(even, run), run.saved)
    return Verdict(f"unlike hosts: epochs {found:.0%} shorter, at least 25 %", found >= 0.25)


def phases_s(run: AutoRun) -> list[float]:
    """The epoch at the end of every phase: before each mark, and at the end."""
    acts = [at_s for at_s, text in run.marks if text != RECOVERY]
    return [*(run.before(at_s) for at_s in acts), run.before(run.epochs[-1].at_s)]


def machines_table(run: AutoRun, names: Sequence[str]) -> str:
    """The epoch with few machines, with many, with few again."""
    times_s = phases_s(run)
    rows = [
        [name, f"{time_s:.2f} s", f"{time_s / times_s[0]:.2f}"]
        for name, time_s in zip(names, times_s, strict=False)
    ]
    return table(["hosts", "epoch", "of the first"], rows)


def machines_verdict(run: AutoRun) -> Verdict:
    """Twice the hosts halve the epoch, about; with half of them it is what it was."""
    few_s, many_s, again_s = phases_s(run)
    what = f"twice the hosts: {many_s / few_s:.2f} of the epoch, then {again_s / few_s:.2f}"
    is_met = many_s / few_s <= 0.65 and abs(again_s / few_s - 1) <= 0.15
    return Verdict(f"{what}; about 0.5 (at most 0.65), then 1 (within 0.15)", is_met)


def link_table(found: Sequence[LinkEvidence], link_bytes_per_s: float) -> str:
    """Moves over a link, and the mini-batches around them."""
    head = ["moved", "took", "of the link", "mini-batch before", "during", "after", "longest stall"]
    rows = [
        [
            *(f"{it.table}, {bytes_text(it.moved_bytes)}", f"{it.plan_s:.1f} s"),
            f"{it.bytes_per_s / link_bytes_per_s:.2f}",
            *(f"{it.before_s:.2f} s", f"{it.during_s:.2f} s", f"{it.after_s:.2f} s"),
            f"{it.stall_s:.2f} s",
        ]
        for it in found
    ]
    return table(head, rows)


def link_verdicts(found: Sequence[LinkEvidence], link_bytes_per_s: float) -> list[Verdict]:
    """At least half of the link."""
    shares = {it.table: it.bytes_per_s / link_bytes_per_s for it in found}
    return [
        Verdict(f"moving {name}: {share:.2f} of the link, at least 0.5", share >= 0.5)
        for name, share in shares.items()
    ]


def _shape(shape: Shape) -> str:
    return f"{shape[0]}+{shape[1]}"
