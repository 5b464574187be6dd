"""Lending among 1,000 simulated machines: balance, utilisation, evictions, and the CPU time taken.

    python benchmarks/memory_simulation.py [--quick]

Placement, head room and eviction are the code of lenders and devices. Peers are the chapter's
figures of 32 machines (figure 2.18), or the rules that leave out one idea. The targets belong to
containers that page out as much as the chapter's utilisation says, because copies of pages that
were read back keep their place on the device (`KEPT`); without that they page out what exceeds
their limits, and the gain is smaller. `--quick` simulates 100 machines. The results are in
results/memory_simulation.json; they depend on the seeds alone, but for the CPU time.
"""

from __future__ import annotations

import time
from dataclasses import astuple, replace

import numpy as np

from motet.interfaces.cli.memory.simulation import balance_columns, simulated
from motet.interfaces.cli.memory.simulation_screen import SimulatedLending
from motet.report.remote_memory.balance_figure import save_balance_figure
from motet.sim.remote_memory.containers import LoadAssumptions
from motet.sim.remote_memory.replay import LendingRules
from motet.sim.remote_memory.strategies import STRATEGIES
from motet.sim.remote_memory.summary import PAPER_WITH, Balance, LendingSummary
from support.figures import RESULTS, Figure, parser, report
from support.memory_figures import RULE, SEEDS

MOST_CPU_S = 60.0
GAIN = 1.47
KEPT = 0.65


def paper_figures(machines: int, seeds: int) -> list[Figure]:
    """Two choices and batch eviction on as many machines as the chapter has; means of seeds."""
    assumed = LoadAssumptions(machines=machines, kept=KEPT)
    runs = [simulated(assumed, LendingRules(), seed) for seed in range(seeds)]
    without, best = _mean([run.without for run in runs]), _mean([_best(run) for run in runs])
    gain = best.utilisation / without.utilisation
    used = f"{best.utilisation:.1%}", f"{without.utilisation:.1%}"
    figures = [
        Figure(f"{machines} machines: utilisation", *used),
        Figure("gain of utilisation", f"{gain:.2f}x", f"{GAIN}x", gain, GAIN),
    ]
    for name, found, before, target in (
        ("max/median", best.max_median, without.max_median, PAPER_WITH.max_median),
        ("max/min", best.max_min, without.max_min, PAPER_WITH.max_min),
    ):
        figures.append(
            Figure(
                f"{machines} machines: {name}",
                f"{found:.2f}",
                f"{before:.2f}",
                found,
                target,
                at_least=False,
            )
        )
    return figures


def _best(shown: SimulatedLending) -> Balance:
    return shown.summaries[0].balance


def _mean(balances: list[Balance]) -> Balance:
    return Balance(*np.mean([astuple(each) for each in balances], axis=0).tolist())


def strategy_figure(summary: LendingSummary) -> Figure:
    """Utilisation, max/median and max/min; evictions, and how many of them were of busy slabs."""
    busy = summary.busy_evictions / max(summary.evictions, 1)
    evictions = f"{summary.evictions:,}, {busy:.1%}"
    return Figure(f"{RULE}{summary.name}", _cells(summary.balance), evictions)


def _cells(found: Balance) -> str:
    return f"{found.utilisation:.1%}, {found.max_median:.2f}, {found.max_min:.2f}"


def main() -> None:
    """Simulate and report."""
    given = parser(__doc__).parse_args()
    machines = 100 if given.quick else 1000
    began_s = time.process_time()
    shown = simulated(LoadAssumptions(machines=machines, kept=KEPT), LendingRules(), 0)
    taken_s = time.process_time() - began_s
    figures = paper_figures(32, 2 if given.quick else SEEDS)
    figures.append(Figure(f"{RULE}no remote memory", _cells(shown.without), ", "))
    figures += [strategy_figure(summary) for summary in shown.summaries]
    seconds = Figure(
        f"CPU seconds, {len(STRATEGIES)} strategies",
        f"{taken_s:.1f}",
        "60",
        taken_s / MOST_CPU_S,
        1.0,
        at_least=False,
    )
    plain = simulated(LoadAssumptions(machines=machines), LendingRules(), 0)
    figures.append(strategy_figure(replace(plain.summaries[0], name="two choices, `--kept 0`")))
    report("memory_simulation", shown.heading, [*figures, seconds])
    save_balance_figure(balance_columns(shown), RESULTS / "memory_simulation_balance.png")


if __name__ == "__main__":
    main()
