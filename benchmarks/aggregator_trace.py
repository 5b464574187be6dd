"""A shared pool of Aggregators over ten weeks of the Philly log, against servers of each job's own.

    python benchmarks/aggregator_trace.py [--quick] [--trace FILE]

The planner is pMaster's. Targets are the dissertation's figures of its own ten weeks of that
cluster (section 4.5.2.4): 52.7 % of the CPU time saved, fewer Aggregators than servers for more
than 99 % of the time; and no predicted loss above LossLimit. The other figures vary one assumption
each. Without the log, a drawn workload of 480 jobs replaces it and there are no targets. The
figure over time is written beside the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.rule_defaults import LOSS_LIMIT
from motet.domain.units import HOUR_US, NEVER_US
from motet.interfaces.cli.aggregator.simulation_files import pool_columns
from motet.interfaces.cli.aggregator.simulation_screen import SimulatedPool
from motet.report.aggregation.pool_figure import save_pool_figure
from motet.sim.aggregation.jobs import JobAssumptions, TraceWindow, service_jobs
from motet.sim.aggregation.replay import ServiceRules, replay
from motet.sim.aggregation.summary import ServiceSummary, summarise_service
from motet.sim.generate.named import drawn_trace
from motet.sim.traces import read_trace
from motet.sim.workload.workload import Workload
from support.figures import RESULTS, Figure, parser, report

PHILLY = Path(__file__).resolve().parents[2] / "shared" / "traces" / "philly.csv.gz"
DRAWN = "tiresias-480"
DAY_US = 24 * HOUR_US
TEN_WEEKS = TraceWindow(14 * DAY_US, 70 * DAY_US)
TWO_WEEKS = TraceWindow(14 * DAY_US, 14 * DAY_US)
SAVED, BELOW_ONE = 0.527, 0.99
VGG19_NS_PER_BYTE = 0.0772
"""With which a server with two workers of VGG19 is busy for 16 % of the time (figure 4.2)."""
UNLIMITED = 2**31
ASSUMED, RULES = JobAssumptions(), ServiceRules(ScalingRules(UNLIMITED))


@dataclass(frozen=True)
class Variant:
    """One simulation."""

    name: str
    assumed: JobAssumptions = ASSUMED
    rules: ServiceRules = RULES


def variants() -> Iterator[Variant]:
    """Each with one assumption changed."""
    rate = JobAssumptions(cpu_ns_per_byte=VGG19_NS_PER_BYTE)
    yield Variant("CPU time per byte as in figure 4.2", rate)
    yield Variant("jobs of 5 GPUs and more", replace(ASSUMED, least_gpus=5))
    for servers in (0.5, 2.0):
        yield Variant(
            f"{servers:g} servers per worker", replace(ASSUMED, servers_per_worker=servers)
        )
    for spread in (0.1, 0.5):
        yield Variant(f"iterations +-{spread:.0%}", replace(ASSUMED, spread=spread))
    for contention in (0.15, 0.3):
        name = f"losses of {contention:.0%} where all is shared"
        yield Variant(name, rules=replace(RULES, contention=contention))
    for rate in (100, 40, 25):
        assumed = replace(ASSUMED, link_bps=rate * 10**9)
        yield Variant(f"links of {rate} Gbit/s", assumed)
    yield Variant("period of 60 min", rules=replace(RULES, period_us=HOUR_US))
    never = ScalingRules(UNLIMITED, on_demand=UNLIMITED)
    yield Variant("new Aggregators once a period", rules=replace(RULES, scaling=never))


def simulated(
    workload: Workload, window: TraceWindow, variant: Variant, name: str
) -> tuple[SimulatedPool, float]:
    """The result, and the CPU seconds that it took."""
    began_s = time.process_time()
    history = replay(service_jobs(workload, variant.assumed, window, seed=0), variant.rules)
    taken_s = time.process_time() - began_s
    shown = SimulatedPool(name, len(workload), LOSS_LIMIT, {}, history, summarise_service(history))
    return shown, taken_s


def main_figures(summary: ServiceSummary, taken_s: float, *, has_targets: bool) -> list[Figure]:
    """Of the assumptions that agree best with the dissertation."""
    saved, below = (SAVED, BELOW_ONE) if has_targets else (None, None)
    return [
        Figure("CPU time saved", f"{summary.saved:.1%}", "52.7%", summary.saved, saved),
        Figure(
            "minutes with fewer Aggregators",
            f"{summary.below_one:.2%}",
            "over 99%",
            summary.below_one,
            below,
        ),
        Figure("largest ratio in a minute", f"{summary.largest_ratio:.2f}", "over 2.5"),
        Figure(
            "largest predicted loss",
            f"{summary.largest_loss:.1%}",
            f"mean {summary.mean_loss:.2%}",
            summary.largest_loss,
            LOSS_LIMIT,
            at_least=False,
        ),
        Figure(
            "Aggregators, mean",
            f"{summary.mean_aggregators:.1f}",
            f"of {summary.mean_servers:.1f} servers",
        ),
        Figure("jobs simulated", f"{summary.jobs:,}", f"{taken_s:.0f} CPU-s"),
    ]


def varied_figure(name: str, summary: ServiceSummary) -> Figure:
    """CPU time saved, and the share of minutes below 1; the figures of each are printed as well."""
    print(f"{name}: {summary.document()}", flush=True)
    return Figure(name, f"{summary.saved:.1%} saved", f"<1: {summary.below_one:.1%}")


def main() -> None:
    """Simulate and report; `--quick` takes two weeks, and varies nothing."""
    flags = parser(__doc__)
    flags.add_argument("--trace", type=Path, default=PHILLY, help="another log of jobs")
    given = flags.parse_args()
    is_drawn = not given.trace.exists()
    trace = drawn_trace(DRAWN, 0) if is_drawn else read_trace(given.trace)
    window = TraceWindow(0, NEVER_US) if is_drawn else TWO_WEEKS if given.quick else TEN_WEEKS
    name = DRAWN if is_drawn else given.trace.name
    shown, taken_s = simulated(trace.workload, window, Variant("as in the seed"), name)
    print(shown.summary.document(), flush=True)
    has_targets = given.trace == PHILLY and not is_drawn
    figures = main_figures(shown.summary, taken_s, has_targets=has_targets)
    for variant in () if given.quick else variants():
        varied, _ = simulated(trace.workload, window, variant, name)
        figures.append(varied_figure(variant.name, varied.summary))
    report("aggregator_trace", f"A shared pool over {name}", figures)
    save_pool_figure(pool_columns(shown), RESULTS / "aggregator_trace_pool.png")


if __name__ == "__main__":
    main()
