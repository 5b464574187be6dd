"""The 60-job trace of Tiresias on the live cluster and in the simulator: average completion times.

The trace (`$MOTET_SHARED/traces/tiresias_60_job.csv`) is scaled to seconds and run by a real server
of 8 slots under four policies, as jobs that sleep and keep their progress over preemptions. The
simulator gets the scaled trace itself, not what was measured, besides the two costs that it cannot
know: the mean time from a request until all processes run, of first starts (a part of every run
time) and of further ones (the cost of a preemption). Targets: average completion times within 10 %,
and policies that are further apart than that in the same order.

The machine has to be idle: start-ups of loaded machines are long compared with the scaled jobs.
`--quick` runs 12 jobs, `--only POLICY` one policy. `--order N` with N above 0 lets the jobs of the
trace change places at random with this seed: another workload of the same jobs and submissions.
`--keep FOLDER` keeps the state of each server, so its journal, in a new folder there, for
`benchmarks/expected_starts.py`. `load` is the processor's load average at the end of a run. By
default the 8 slots are those of one machine. `--testbed T` takes a front and three hosts of 2 slots
each, which join the cluster (`motet testbed up --machines 3 --no-ray --name T`).

The jobs must not slow each other down: a process and its shepherd may use 2 % of a core over the
time that they run, their starts included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from argparse import SUPPRESS, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import Unreachable
from motet.domain.units import SECOND_US, exact_seconds, seconds
from motet.interfaces.client import LiveClient
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.server_address import ADDRESS_FILE, ServerAddress
from motet.live.jobs.job import LiveJob
from motet.sim.experiment import Experiment
from motet.sim.traces import read_trace
from motet.sim.workload.workload import Workload
from motet.testbed.commands import ADDRESS_VARIABLE
from support.figures import Figure, parser, report
from support.joined_hosts import FRONT, MOTET, run_on_front
from support.resumable_program import PROGRAM, recorded_usage

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
MOST_ERROR = 0.1
MOST_CPU = 0.02
"""Of one core, for a process of a job and its shepherd."""


@dataclass(frozen=True)
class LiveRun:
    """Completion times in seconds; `first_s`, `further_s`: mean start-ups; `load`: see above.

    `uneven_s`: by how much start-ups of a job differ from these means, the mean over jobs: what
    the simulator cannot know. `sizes`: slots of the machines. `cpu`: for each process of a job, the
    share of a core that it and its shepherd used while it ran.
    """

    jct_s: float
    first_s: float
    further_s: float
    uneven_s: float
    preemptions: int
    load: float
    sizes: Sequence[int]
    cpu: Sequence[float]


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


@contextmanager
def server(folder: Path, policy: str, place: Sequence[str]) -> Iterator[LiveClient]:
    """A server with the policy in force. `place`: the options of its cluster."""
    settings = [word for pair in POLICIES[policy].items() for word in ("--set", "=".join(pair))]
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


def run_live(workload: Workload, policy: str, home: Path, place: Sequence[str]) -> LiveRun:
    """Submit every job at its time and wait for the last one. `home`: for the server's state."""
    folder = home / policy
    with server(folder, policy, place) as client:
        sizes = sorted(each["slots"] for each in client.machines())
        submit_all(client, workload)
    journal = FollowedJournal(str(folder / "journal.db"))
    journal.read()
    jobs = [*journal.cluster.state.jobs.values()]
    journal.close()
    assert all(job.state == "SUCCEEDED" for job in jobs)
    jct_s = mean(seconds((job.ended_us or 0) - job.submitted_us) for job in jobs)
    preemptions = sum(len(job.attempts) - 1 for job in jobs)
    first_s, further_s = (start_up_s(jobs, is_first=each) for each in (True, False))
    uneven_s = mean(unevenness_s(job, first_s, further_s) for job in jobs)
    load, cpu = os.getloadavg()[0], [each.share for each in recorded_usage(folder)]
    return LiveRun(jct_s, first_s, further_s, uneven_s, preemptions, load, sizes, cpu)


def submit_all(client: LiveClient, workload: Workload) -> None:
    """Returns when all have ended."""
    began_s, numbers = time.monotonic(), []
    columns = (workload.submit_us, workload.duration_us, workload.gpus)
    for submit_us, duration_us, gpus in zip(*(each.tolist() for each in columns), strict=True):
        time.sleep(max(0.0, began_s + seconds(submit_us) - time.monotonic()))
        run_s = seconds(duration_us)
        job = {"name": "job", "run": [sys.executable, "-S", "-c", PROGRAM, str(run_s)]}
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


def unevenness_s(job: LiveJob, first_s: float, further_s: float) -> float:
    """The differences of the start-ups of a job from the means, added up."""
    told_s = {True: first_s, False: further_s}
    return sum(
        abs(seconds(it.running_us - it.requested_us) - told_s[it.number == 1])
        for it in job.attempts
        if it.running_us is not None
    )


def start_up_s(jobs: Sequence[LiveJob], *, is_first: bool) -> float:
    """The mean time from a request of an attempt until all processes run: few starts take long, and
    each delays its job."""
    attempts = [each for job in jobs for each in job.attempts if (each.number == 1) is is_first]
    took = [it.running_us - it.requested_us for it in attempts if it.running_us is not None]
    return seconds(round(mean(took))) if took else 0.0


def simulated_jct_s(workload: Workload, policy: str, live: LiveRun) -> float:
    """The average completion time in the simulator, with the measured costs."""
    longer = workload.duration_us + round(live.first_s * SECOND_US)
    trace = Workload.of(workload.ids, workload.submit_us, longer, workload.gpus)
    cost = exact_seconds(round(live.further_s * SECOND_US))
    settings = {**POLICIES[policy], "placement": "count", "preemption_cost": cost}
    outcome = Experiment(policy, settings).run(trace, ClusterSpec.of(live.sizes))
    assert outcome.is_finished.all()
    return float(outcome.jct_us.mean()) / SECOND_US


def figures_of(
    workload: Workload, policies: Sequence[str], home: Path, place: Sequence[str]
) -> list[Figure]:
    """Run everything."""
    live_s, simulated_s, figures = dict[str, float](), dict[str, float](), list[Figure]()
    for number, policy in enumerate(policies):
        # Nodes of the cluster before take half a minute to end: another port for every head.
        own = [f"{FRONT}:{FIRST_PORT + number}" if each == FRONT else each for each in place]
        live = run_live(workload, policy, home, own)
        live_s[policy], simulated_s[policy] = live.jct_s, simulated_jct_s(workload, policy, live)
        error = abs(simulated_s[policy] / live.jct_s - 1)
        figures += [
            Figure(
                f"{policy}: error of the average JCT",
                f"{live.jct_s:.2f} s",
                f"{simulated_s[policy]:.2f} s",
                error,
                MOST_ERROR,
                at_least=False,
            ),
            Figure(
                f"{policy}: start-ups, preemptions, load",
                f"{live.first_s:.2f}, {live.further_s:.2f} s",
                f"{live.preemptions}, {live.load:.1f}",
            ),
            Figure(
                f"{policy}: CPU of a process, median, most",
                f"{median(live.cpu):.2%}, {max(live.cpu):.2%} of a core",
                f"{len(live.cpu)} processes",
                max(live.cpu),
                MOST_CPU,
                at_least=False,
            ),
        ]
    order = sorted(policies, key=simulated_s.__getitem__)
    apart = [
        (better, worse)
        for better, worse in combinations(order, 2)
        if simulated_s[worse] > simulated_s[better] * (1 + MOST_ERROR)
    ]
    is_same = all(live_s[better] <= live_s[worse] for better, worse in apart)
    name = f"same order of {len(apart)} pairs that are {MOST_ERROR:.0%} apart"
    figures.append(Figure(name, str(is_same), "", float(is_same), 1.0))
    return figures


def arguments() -> Namespace:
    """What the user wants."""
    made = parser(__doc__ or "")
    made.add_argument("--only", choices=POLICIES, action="append", help="may be given repeatedly")
    made.add_argument("--order", type=int, default=0, help="another order of the jobs")
    made.add_argument("--keep", type=Path, help="a folder for the states of the servers")
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


def main() -> None:
    """Measure and report."""
    options = arguments()
    with TemporaryDirectory() as temporary:
        home = states(options, temporary)
        if options.testbed and options.inside is None:
            again = [sys.executable, __file__, *sys.argv[1:], "--inside", str(home.resolve())]
            sys.exit(run_on_front(options.testbed, home, SLOTS // 4, again))
        place = ["--cluster", CLUSTER]
        if options.inside is not None:
            os.environ.pop(ADDRESS_VARIABLE)
            place = ["--head", FRONT]
        jobs, scale = (QUICK_JOBS, QUICK_SCALE) if options.quick else (JOBS, SCALE)
        title = f"{jobs} jobs of the 60-job trace, live (measured) and simulated (peer)"
        workload = scaled(jobs, scale, options.order)
        found = figures_of(workload, options.only or [*POLICIES], home, place)
        report("live_fidelity", title, found, plot=False)


if __name__ == "__main__":
    main()
