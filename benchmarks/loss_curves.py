"""Losses predicted ten iterations ahead, from every history of at least ten, beside "no change".

Real curves of `../shared/curves` where they are at hand, and of small trainings on scikit-learn's
digits, which predictions were not developed on. Targets: SLAQ's error of 5 % for convex, EM-like
and boosting curves at the 95th percentile; over all curves a median of 0.5 % of the loss, 95 %
within 5 % of the curve's range, and a median of 0.2 of the true change. A fit takes 1 ms of a core.
Margins of 90 % contain 85 % of the losses or more, for every kind of curves.
`--report` writes their table into the page on loss curves.
"""

from __future__ import annotations

import numpy as np

from motet.estimate.loss_curve.predictor import LossPredictor
from support import loss_coverage
from support.figures import Figure, parser, report
from support.hosts import ROOT
from support.loss_coverage import Coverage, coverages
from support.loss_scores import CurveScore, Floats, Score, scored, shared_curves
from support.network_curves import network_curves
from support.side_by_side import cpu_s
from support.training_curves import training_curves

PAGE = ROOT / "docs" / "reference" / "loss-curves.md"
CALIBRATED, HELD_BACK = "calibrated on", "held back"
LEAST_COVERED = 0.85
JOBS = 10_000
LIMIT_S = 10.0


def print_table(scores: list[CurveScore]) -> None:
    """A row per curve; after each figure the baseline's in brackets."""
    heads = ("median / loss", "p95 / loss", "in 5 % of range", "error / change")
    print(f"\n{'no change in brackets':30}" + "".join(f"{head:>18}" for head in heads) + "  chosen")
    for each in scores:
        score, base = each.score, each.score.no_change
        cells = (
            f"{score.median:.3%} ({base.median:.1%})",
            f"{score.p95:.2%} ({base.p95:.1%})",
            f"{score.within_range:.1%} ({base.within_range:.0%})",
            f"{score.per_change:.2f} (1)",
        )
        print(f"{each.name:30}" + "".join(f"{cell:>18}" for cell in cells) + f"  {each.favourite}")


def figures_of(group: str, scores: list[CurveScore]) -> list[Figure]:
    """All gates over a group of curves."""
    convex = max((each for each in scores if each.is_convex), key=lambda each: each.score.p95)
    every = Score.pooled(each.score for each in scores)
    base = every.no_change
    worst, stays = convex.score.p95, convex.score.no_change.p95
    return [
        _share(f"{group}: p95 / loss, worst convex", worst, stays, 0.05),
        _share(f"{group}: median / loss, all", every.median, base.median, 0.005),
        _share(
            f"{group}: within 5 % of range, all", every.within_range, base.within_range, 0.95, True
        ),
        _share(f"{group}: median / true change, all", every.per_change, base.per_change, 0.2),
    ]


def coverage_figures(found: list[Coverage]) -> list[Figure]:
    """Coverage of the margins of 90 %."""
    figures = []
    for each in found:
        part, name = float(each.means[2]), f"margins of 90 %, {each.kind}"
        peer = f"{each.least:.1%} worst curve"
        figures.append(Figure(name, f"{part:.1%}", peer, part, LEAST_COVERED))
    return figures


def _share(
    name: str, measured: float, base: float, target: float, at_least: bool = False
) -> Figure:
    return Figure(name, f"{measured:.3%}", f"{base:.2%} stay", measured, target, at_least)


def time_figure(curves: list[Floats], jobs: int) -> Figure:
    """CPU-seconds to fit many jobs at random points of their curves."""
    rng = np.random.default_rng(0)
    histories = []
    for _ in range(jobs):
        losses = curves[rng.integers(len(curves))]
        size = int(rng.integers(10, len(losses)))
        histories.append((np.arange(size), losses[:size]))
    seconds = cpu_s(lambda: LossPredictor().fit_many(histories))
    return Figure(
        f"{jobs:,} jobs refitted",
        f"{seconds:.2f} CPU-s",
        f"{seconds / jobs * 1e3:.3f} ms/job",
        seconds * JOBS / jobs,
        LIMIT_S,
        at_least=False,
    )


def network_figures(scores: list[CurveScore]) -> list[Figure]:
    """How far off the small networks are; no target is known."""
    every = Score.pooled(each.score for each in scores)
    worst = max(each.score.p95 for each in scores)
    base = every.no_change
    return [
        Figure("networks: p95 / loss, worst", f"{worst:.3%}", "", worst),
        Figure(
            "networks: median / loss, all",
            f"{every.median:.3%}",
            f"{base.median:.2%} stay",
            every.median,
        ),
        Figure(
            "networks: median / true change, all",
            f"{every.per_change:.3%}",
            "100.00% stay",
            every.per_change,
        ),
    ]


def main() -> None:
    """Every curve once."""
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--report", action="store_true", help="also write the table of margins")
    arguments = made.parse_args()
    shared, digits, networks = shared_curves(), training_curves(), network_curves()
    figures = []
    for group, losses_by_name in {"shared": shared, "digits": digits}.items():
        if not losses_by_name:
            print(f"{group}: left out, there are no curves (set MOTET_SHARED)")
            continue
        scores = [scored(name, losses) for name, losses in losses_by_name.items()]
        print_table(scores)
        figures += figures_of(group, scores)
    scores = [scored(name, losses) for name, losses in networks.items()]
    print_table(scores)
    figures += network_figures(scores)
    found = coverages({CALIBRATED: shared, HELD_BACK: digits | networks})
    figures += coverage_figures(found)
    curves = [*shared.values(), *digits.values()]
    figures.append(time_figure(curves, JOBS // 10 if arguments.quick else JOBS))
    report("loss_curves", "Losses ten iterations ahead; beside them: taken to stay", figures)
    if arguments.report:
        loss_coverage.write(PAGE, "loss_curves.py", found)


if __name__ == "__main__":
    main()
