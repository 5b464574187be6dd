"""Lending among 1,000 simulated machines: balance, utilisation, evictions, and the CPU time taken.

    python benchmarks/memory_simulation.py [--quick]

Placement, head room and eviction are the code of lenders and devices. Peers are the chapter's
figures of 32 machines (figure 2.18), or the rules that leave out one idea. `--quick` simulates 100
machines.
"""

from __future__ import annotations

import time

from motet.interfaces.cli.memory.simulation import balance_columns, simulated
from motet.interfaces.cli.memory.simulation_screen import SimulatedLending
from motet.report.remote_memory.balance_figure import save_balance_figure
from motet.sim.remote_memory.containers import LoadAssumptions
from motet.sim.remote_memory.replay import LendingRules
from motet.sim.remote_memory.strategies import STRATEGIES
from motet.sim.remote_memory.summary import PAPER_WITH, LendingSummary
from support.figures import RESULTS, Figure, parser, report

MOST_CPU_S = 60.0
GAIN = 1.47


def main_figures(shown: SimulatedLending) -> list[Figure]:
    """Of two choices and batch eviction, beside the chapter's."""
    without, best = shown.without, shown.summaries[0].balance
    gain = best.utilisation / without.utilisation
    return [
        Figure("utilisation without / with", f"{without.utilisation:.1%}, {best.utilisation:.1%}"),
        Figure("gain of utilisation", f"{gain:.2f}x", "1.47x", gain, GAIN),
        Figure(
            "max/median with",
            f"{best.max_median:.2f}",
            f"{without.max_median:.2f} without",
            best.max_median,
            PAPER_WITH.max_median,
            at_least=False,
        ),
        Figure(
            "max/min with",
            f"{best.max_min:.2f}",
            f"{without.max_min:.2f} without",
            best.max_min,
            PAPER_WITH.max_min,
            at_least=False,
        ),
        Figure("99 %/median with", f"{best.p99_median:.2f}", f"{without.p99_median:.2f} without"),
    ]


def strategy_figures(summary: LendingSummary) -> list[Figure]:
    """Balance and evictions of one strategy."""
    ratios = f"{summary.balance.max_median:.2f}, {summary.balance.max_min:.2f}"
    busy = summary.busy_evictions / max(summary.evictions, 1)
    return [
        Figure(
            summary.name, ratios, f"{summary.remote:.1%} remote, {summary.balance.utilisation:.1%}"
        ),
        Figure("  evictions, of busy slabs", f"{summary.evictions:,}", f"{busy:.1%}"),
    ]


def main() -> None:
    """Simulate and report."""
    given = parser(__doc__).parse_args()
    machines = 100 if given.quick else 1000
    began_s = time.process_time()
    shown = simulated(LoadAssumptions(machines=machines), LendingRules(), 0)
    taken_s = (time.process_time() - began_s) / len(STRATEGIES)
    figures = main_figures(shown)
    for summary in shown.summaries:
        figures += strategy_figures(summary)
    seconds = Figure(
        "CPU seconds per strategy",
        f"{taken_s:.1f}",
        "60",
        taken_s / MOST_CPU_S,
        1.0,
        at_least=False,
    )
    report("memory_simulation", shown.heading, [*figures, seconds])
    save_balance_figure(balance_columns(shown), RESULTS / "memory_simulation_balance.png")


if __name__ == "__main__":
    main()
