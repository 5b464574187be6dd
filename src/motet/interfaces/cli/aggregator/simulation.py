"""`motet aggregator simulate`: reads the log, replays it, shows and writes the results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from motet.aggregation.planner.clusters import ScalingRules
from motet.domain.errors import BadInput
from motet.domain.units import NEVER_US, microseconds
from motet.interfaces.cli.aggregator.simulation_files import write_simulation
from motet.interfaces.cli.aggregator.simulation_screen import SimulatedPool, simulation_page
from motet.interfaces.cli.shell.option_types import link_rate, queue_loss_limits
from motet.interfaces.cli.shell.streams.busy_line import busy_line
from motet.interfaces.cli.shell.streams.results import print_json, print_result
from motet.interfaces.cli.shell.trace_input import TraceFlags, traces
from motet.interfaces.cli.trace.output_file import print_trace_notices
from motet.report.rendering.folder import Folder
from motet.sim.aggregation.jobs import JobAssumptions, ServiceJobs, TraceWindow, service_jobs
from motet.sim.aggregation.replay import ServiceRules, replay
from motet.sim.aggregation.summary import summarise_service
from motet.sim.traces import Trace

_UNLIMITED = 2**31


@dataclass(frozen=True)
class PoolFlags:
    """The flags of `motet aggregator simulate`, as click read them."""

    trace: Path
    format_name: str | None
    column_texts: tuple[str, ...]
    timezone: str | None
    time_format: str | None
    encoding: str | None
    skip_bad_rows: bool
    skip_s: float | None
    span_s: float | None
    seed: int
    least_gpus: int
    gpus_per_worker: int
    servers_per_worker: float
    cpu_ns_per_byte: float | None
    spread: float
    contention: float
    loss_limit: float
    queue_texts: tuple[str, ...]
    bandwidth: str | None
    period_s: float
    on_demand: int
    cluster_size: int
    measured_iterations: int
    out: Path | None
    as_json: bool

    @property
    def assumed(self) -> JobAssumptions:
        """What the log does not state. Raises BadInput for a limit of a queue and a bandwidth."""
        return JobAssumptions(
            self.gpus_per_worker,
            self.servers_per_worker,
            self.least_gpus,
            self.cpu_ns_per_byte,
            self.spread,
            queue_loss_limits(self.queue_texts),
            link_rate(self.bandwidth),
        )

    @property
    def rules(self) -> ServiceRules:
        """Of the pool."""
        scaling = ScalingRules(_UNLIMITED, self.cluster_size, self.on_demand, self.loss_limit)
        return ServiceRules(
            scaling, microseconds(self.period_s), self.measured_iterations, self.contention
        )


def show_simulation(flags: PoolFlags) -> None:
    """Simulate and print the result. Raises MotetError."""
    folder = None if flags.out is None else Folder(flags.out)
    told = flags.format_name, None, flags.column_texts, flags.timezone, flags.encoding
    source = TraceFlags(flags.trace, *told, flags.time_format, flags.skip_bad_rows)
    trace = traces(source, None, [flags.seed], "--trace ")[flags.seed]
    print_trace_notices(trace)
    jobs = _jobs(flags, trace)
    with busy_line(f"simulating {len(jobs):,} jobs (the first time, the planner is compiled)"):
        history = replay(jobs, flags.rules)
    summary = summarise_service(history)
    limits = flags.loss_limit, flags.assumed.queue_limits
    shown = SimulatedPool(flags.trace.name, len(trace.workload), *limits, history, summary)
    if folder is not None:
        write_simulation(folder, shown, _document(flags, trace, shown))
    if flags.as_json:
        print_json(_document(flags, trace, shown))
    else:
        print_result(simulation_page(shown, flags.out))


def _jobs(flags: PoolFlags, trace: Trace) -> ServiceJobs:
    """Raises BadInput if no job is distributed."""
    window = TraceWindow(
        microseconds(flags.skip_s or 0),
        NEVER_US if flags.span_s is None else microseconds(flags.span_s),
    )
    jobs = service_jobs(trace.workload, flags.assumed, window, flags.seed)
    if not len(jobs):
        part = "" if flags.skip_s is None and flags.span_s is None else " in this part of the log"
        raise BadInput(
            f"--trace {flags.trace}: no job{part} has {flags.least_gpus} GPUs or more; "
            "lower --least-gpus, or give another log or another part of it"
        )
    return jobs


def _document(flags: PoolFlags, trace: Trace, shown: SimulatedPool) -> dict[str, Any]:
    given = {
        name: value
        for name, value in asdict(flags).items()
        if name not in ("out", "as_json", "trace") and value not in (None, ())
    }
    return {
        "trace": str(flags.trace),
        "sha256": trace.sha256,
        "setup": given,
        "summary": shown.summary.document(),
    }
