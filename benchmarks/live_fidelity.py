"""The 60-job trace of Tiresias on the live cluster and in the simulator: average completion times.

The trace (`$MOTET_SHARED/traces/tiresias_60_job.csv`) is scaled to seconds and run by a real server
of 8 slots under four policies, as jobs that sleep and keep their progress over preemptions. The
simulator gets the scaled trace itself, not what was measured, besides the two costs that it cannot
know: the mean time from a request until all processes run, of first starts (a part of every run
time) and of further ones (the cost of a preemption). These means are estimates, and under `themis`
some hundredths of a second lead to other auctions: the simulated time is the median of DRAWS
simulations whose costs are drawn by the standard errors of the means. Targets: average completion
times within 10 %, and policies that are further apart than that in the same order.

The machine has to be idle: start-ups of loaded machines are long compared with the scaled jobs.
`--quick` runs 12 jobs, `--only POLICY` one policy. `--slower N` makes all times N times as long,
those of the policies too. `--order N` with N above 0 lets the jobs of the trace change places at
random with this seed: another workload of the same jobs and submissions.
`--keep FOLDER` keeps the state of each server, so its journal, in a new folder there: for
`--evaluate FOLDER`, which gives the figures of these runs without running anything, and for
`benchmarks/expected_starts.py`. `load` is the processor's load average at the end of a run. By
default the 8 slots are those of one machine. `--testbed T` takes a front and three hosts of 2 slots
each, which join the cluster (`motet testbed up --machines 3 --no-ray --name T`).

The jobs must not slow each other down: they may use 2 % of a core for each process over the time
that it runs. Counted is the CPU time of a process, of its shepherd and of forking this, starts
included, which are nearly all of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from argparse import SUPPRESS, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import Unreachable
from motet.domain.units import SECOND_US, exact_seconds, seconds
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ADDRESS_FILE, ServerAddress
from motet.sim.experiment import Experiment
from motet.sim.traces import read_trace
from motet.sim.workload.workload import Workload
from motet.testbed.commands import ADDRESS_VARIABLE
from support.fidelity_run import LOAD_FILE, LiveRun, StartUp
from support.figures import Figure, parser, report
from support.joined_hosts import FRONT, MOTET, run_on_front
from support.resumable_program import JobUsage, resumable_command

TRACE = "traces/tiresias_60_job.csv"
CLUSTER, SLOTS = "1x8", 8
JOBS, QUICK_JOBS = 60, 12
FIRST_PORT = 6390
SCALE, QUICK_SCALE = 20.0, 25.0
POLICIES: dict[str, dict[str, str]] = {
    "fifo": {},
    "tiresias-las": {"quantum_s": "1", "thresholds": "40"},
    "srtf": {},
    "themis": {"lease_s": "10"},
}
"""Their parameters are times, of processes or of the clock."""
DRAWS = 31
MOST_ERROR = 0.1
MOST_CPU = 0.02
"""Of one core, for each process of a job and its shepherd."""


def scaled(jobs: int, scale: float, order: int) -> Workload:
    """The first jobs of the trace, in seconds divided by `scale`; the first one is at 0.

    `order`: 0 is that of the trace; else the seed by which jobs change places.
    """
    home = Path(os.environ.get("MOTET_SHARED", Path(__file__).parents[2] / "shared"))
    found = read_trace(home / TRACE).workload
    place = np.random.default_rng(order).permutation(jobs) if order else np.arange(jobs)
    return Workload.of(
        found.ids[:jobs],
        (found.submit_us[:jobs] / scale).astype(np.int64),
        (found.duration_us[:jobs] / scale).astype(np.int64)[place],
        found.gpus[:jobs][place],
    )


def settings_of(policy: str, slower: float) -> dict[str, str]:
    """Its parameters, `slower` times as long."""
    return {name: f"{float(value) * slower:g}" for name, value in POLICIES[policy].items()}


@contextmanager
def server(folder: Path, policy: str, place: Sequence[str], slower: float) -> Iterator[LiveClient]:
    """A server with the policy in force. `place`: the options of its cluster."""
    given = settings_of(policy, slower)
    settings = [word for pair in given.items() for word in ("--set", "=".join(pair))]
    command = [*MOTET, "server", *place, "--policy", policy, *settings]
    process = subprocess.Popen([*command, "--state-dir", str(folder)], stderr=subprocess.DEVNULL)
    try:
        while not (folder / ADDRESS_FILE).exists():
            if process.poll() is not None:
                raise SystemExit(f"the server does not start: {' '.join(command)}")
            time.sleep(0.1)
        with LiveClient(ServerAddress.find(folder=folder)) as client:
            while sum(each["slots"] for each in client.machines()) < SLOTS:
                time.sleep(0.1)
            yield client
    finally:
        process.terminate()
        process.wait()
        if "--head" in place:
            subprocess.run([*MOTET, "machine", "leave", "--state-dir", str(folder)], check=True)


def run_live(
    workload: Workload, policy: str, home: Path, place: Sequence[str], slower: float = 1.0
) -> LiveRun:
    """Submit every job at its time and wait for the last one. `home`: for the server's state."""
    folder = home / policy
    with server(folder, policy, place, slower) as client:
        submit_all(client, workload)
    (folder / LOAD_FILE).write_text(json.dumps(os.getloadavg()[0]))
    return LiveRun.of(folder, workload)


def submit_all(client: LiveClient, workload: Workload) -> None:
    """Returns when all have ended."""
    began_s, numbers = time.monotonic(), []
    columns = (workload.submit_us, workload.duration_us, workload.gpus)
    for submit_us, duration_us, gpus in zip(*(each.tolist() for each in columns), strict=True):
        time.sleep(max(0.0, began_s + seconds(submit_us) - time.monotonic()))
        run_s = seconds(duration_us)
        job = {"name": "job", "run": resumable_command(run_s)}
        more = {"processes": gpus, "workdir": "/", "duration_s": run_s}
        numbers.append(submitted(client, {**job, **more}, f"job-{len(numbers)}"))
    for number in numbers:
        while not client.wait(number, 30.0)["ended_at"]:
            pass


def submitted(client: LiveClient, job: dict[str, object], key: str) -> str:
    """The id; a server of a loaded machine may answer the first request too late."""
    while True:
        with suppress(Unreachable):
            return str(client.submit(job, key=key)["id"])


def simulated_jcts_s(
    workload: Workload, policy: str, live: LiveRun, slower: float = 1.0
) -> list[float]:
    """The average completion times in the simulator, with the measured costs, in order."""
    given, found = {**settings_of(policy, slower), "placement": "count"}, list[float]()
    for first, further in np.random.default_rng(0).normal(size=(DRAWS, 2)).tolist():
        cost = exact_seconds(drawn_us(live.further, further))
        experiment = Experiment(policy, {**given, "preemption_cost": cost})
        first_us = drawn_us(live.first, first)
        found.append(simulated_jct_s(experiment, workload, live.sizes, first_us))
    return sorted(found)


def drawn_us(start: StartUp, deviation: float) -> int:
    """Microseconds, so many standard errors above the mean."""
    return round(max(start.mean_s + deviation * start.error_s, 0.0) * SECOND_US)


def simulated_jct_s(
    experiment: Experiment, workload: Workload, sizes: Sequence[int], first_us: int
) -> float:
    """The average completion time. `first_us`: of a start, a part of every run time."""
    longer = workload.duration_us + first_us
    trace = Workload.of(workload.ids, workload.submit_us, longer, workload.gpus)
    outcome = experiment.run(trace, ClusterSpec.of(sizes))
    assert outcome.is_finished.all()
    return float(outcome.jct_us.mean()) / SECOND_US


def figures_of(workload: Workload, runs: Mapping[str, LiveRun], slower: float) -> list[Figure]:
    """Of one run of each policy."""
    all_s = {each: simulated_jcts_s(workload, each, run, slower) for each, run in runs.items()}
    simulated_s = {policy: median(found) for policy, found in all_s.items()}
    figures = [
        figure
        for policy, run in runs.items()
        for figure in (
            *time_figures(policy, run, all_s[policy]),
            *cpu_figures(policy, run.usage),
        )
    ]
    order = sorted(runs, key=simulated_s.__getitem__)
    apart = [
        (better, worse)
        for better, worse in combinations(order, 2)
        if simulated_s[worse] > simulated_s[better] * (1 + MOST_ERROR)
    ]
    is_same = all(runs[better].jct_s <= runs[worse].jct_s for better, worse in apart)
    name = f"same order of {len(apart)} pairs that are {MOST_ERROR:.0%} apart"
    return [*figures, Figure(name, str(is_same), "", float(is_same), 1.0)]


def time_figures(policy: str, run: LiveRun, simulated_s: Sequence[float]) -> Iterator[Figure]:
    """`simulated_s`: the average completion times, in order."""
    middle_s = median(simulated_s)
    yield Figure(
        f"{policy}: error of the average JCT",
        f"{run.jct_s:.2f} s",
        f"{middle_s:.2f} s ({simulated_s[0]:.2f} to {simulated_s[-1]:.2f})",
        abs(middle_s / run.jct_s - 1),
        MOST_ERROR,
        at_least=False,
    )
    load = "unknown" if run.load is None else f"{run.load:.1f}"
    starts = f"{run.first.mean_s:.2f}, {run.further.mean_s:.2f} s"
    yield Figure(f"{policy}: start-ups, preemptions, load", starts, f"{run.preemptions}, {load}")


def cpu_figures(policy: str, jobs: Sequence[JobUsage]) -> Iterator[Figure]:
    """Shares of a core: for each process of a job, of single processes, of all processes of a job
    together. Median and most."""
    processes = [each for job in jobs for each in job.processes]
    for name, shares, most in (
        ("a job, per process", [job.share for job in jobs], MOST_CPU),
        ("a process", [each.share for each in processes], MOST_CPU),
        ("a job, all processes", [job.cores for job in jobs], None),
    ):
        measured = f"{median(shares):.2%}, {max(shares):.2%}"
        name, count = f"{policy}: CPU of {name}", f"{len(shares)}"
        yield Figure(name, measured, count, max(shares), most, at_least=False)


def arguments() -> Namespace:
    """What the user wants."""
    made = parser(__doc__ or "")
    made.add_argument("--only", choices=POLICIES, action="append", help="may be given repeatedly")
    made.add_argument("--slower", type=float, default=1.0, help="all times so many times as long")
    made.add_argument("--order", type=int, default=0, help="another order of the jobs")
    made.add_argument("--keep", type=Path, help="a folder for the states of the servers")
    made.add_argument("--evaluate", type=Path, help="such a folder, without running anything")
    made.add_argument("--testbed", help="run on this testbed")
    made.add_argument("--inside", type=Path, help=SUPPRESS)
    return made.parse_args()


def states(options: Namespace, temporary: str) -> Path:
    """The folder for the states of the servers; it has none yet."""
    home = options.inside or options.keep or Path(temporary)
    home.mkdir(parents=True, exist_ok=True)
    for policy in options.only or POLICIES:
        if (home / policy).exists():
            raise SystemExit(f"{home / policy} exists; give --keep a new folder")
    return Path(home)


def measured(workload: Workload, options: Namespace) -> dict[str, LiveRun]:
    """Run every policy."""
    with TemporaryDirectory() as temporary:
        home = states(options, temporary)
        if options.testbed and options.inside is None:
            again = [sys.executable, __file__, *sys.argv[1:], "--inside", str(home.resolve())]
            sys.exit(run_on_front(options.testbed, home, SLOTS // 4, again))
        if options.inside is not None:
            os.environ.pop(ADDRESS_VARIABLE)
        runs = dict[str, LiveRun]()
        for number, policy in enumerate(options.only or POLICIES):
            # Nodes of the cluster before take half a minute to end: another port for every head.
            head = ["--head", f"{FRONT}:{FIRST_PORT + number}"]
            place = ["--cluster", CLUSTER] if options.inside is None else head
            runs[policy] = run_live(workload, policy, home, place, options.slower)
        return runs


def kept(workload: Workload, options: Namespace) -> dict[str, LiveRun]:
    """The runs in the folder of `--evaluate`, of the policies of `--only` if it is given."""
    runs = {
        policy: LiveRun.of(options.evaluate / policy, workload)
        for policy in options.only or POLICIES
        if (options.evaluate / policy).exists()
    }
    if not runs:
        raise SystemExit(f"{options.evaluate} has no run; give a folder of --keep")
    return runs


def main() -> None:
    """Measure and report."""
    options = arguments()
    jobs, scale = (QUICK_JOBS, QUICK_SCALE) if options.quick else (JOBS, SCALE)
    workload = scaled(jobs, scale / options.slower, options.order)
    runs = (kept if options.evaluate else measured)(workload, options)
    title = f"{jobs} jobs of the 60-job trace, live (measured) and simulated (peer)"
    report("live_fidelity", title, figures_of(workload, runs, options.slower), plot=False)


if __name__ == "__main__":
    main()
