"""Harmony on hosts of a testbed with CPU quotas and limited links (Linux, root).

`--part prediction`: jobs of four applications, alone and in all groups of two to four, on the same
hosts; the time of a mini-batch of a group's slowest job against eq. 4.1, with the steps of each job
alone and with those that were measured in the group (the source, W.-Y. Lee 2020, profiles in
groups: the error is always below 5 %). `--sizes 2`: groups of two only; `--jobs nmf,lda`: of these
jobs only. `--first`: hosts and controllers get CPUs before all other processes of the machine, for
a machine on which others run.
`--part schedules`: twelve jobs of four applications on all hosts, `isolated` (each job alone on
machines of its own), `naive` (groups by chance), `subtasks` (the same groups, which take turns) and
`grouping` (groups by the model, which take turns). JCT and makespan as times of `isolated`; CPU and
network in use (section 4.4.3: 1.27 and 1.15 by subtasks, 1.72 and 1.35 with groups). Groups have
pairs of hosts, as if no job's data fit on one: a job on one host has no traffic on the network and
nothing to gain from others (measured: `isolated` took one host for each job and was the fastest).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from statistics import mean

import motet
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.harmony.baselines import isolated_grouping
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.search import best_grouping
from support.figures import Figure, parser, report
from support.harmony_predictions import Bed, prediction_figures, predictions
from support.host_cluster import HostMachines, host_machines
from support.host_usage import HostUsage
from support.hosts import hosts_up, hurried, run_first, unwind_when_terminated
from support.testbed_jobs import JobKind, RunningJob, begin

NAME = "harmonybed"
CPUS, BANDWIDTH = 0.2, "20mbit"
PAIR = 2
LONG_CPUS, LONG_BANDWIDTH = 0.4, "60mbit"
ENDLESS, BATCHES = 1_000_000, 6
ROUNDS = 1
"""Times the epochs of `kinds`."""
RATINGS = "synthetic-ratings:users=16000,items=1000,density=0.2"
CORPUS = "synthetic-corpus:documents=16000,words=2000,topics=20,length=150"
CLASSES = "synthetic-classification:rows=16000,features=1000,classes=40"
NUMBERS = "synthetic-regression:rows=12000,features=3000,nonzeros=100"
LONG_RATINGS = "synthetic-ratings:users=48000,items=1000,density=0.2"
LONG_CORPUS = "synthetic-corpus:documents=32000,words=2000,topics=20,length=150"
LONG_CLASSES = "synthetic-classification:rows=24000,features=1000,classes=40"
LONG_NUMBERS = "synthetic-regression:rows=16000,features=3000,nonzeros=100"


def kinds(size: int) -> list[JobKind]:
    """One job of each application; `size`: 1 to 3, of their models."""
    return [
        JobKind("nmf", RATINGS, lambda n: motet.NMF(rank=32 * size, batch_size=n), 48),
        JobKind("lda", CORPUS, lambda n: motet.LDA(topics=20 * size, batch_size=n), 120),
        JobKind("mlr", CLASSES, lambda n: motet.MLR(solver="saga", batch_size=n), 48),
        JobKind("lasso", NUMBERS, lambda n: motet.Lasso(solver="fista"), 200),
    ]


def long_kinds() -> list[JobKind]:
    """One endless job of each application, whose COMP and COMM are long beside what a message
    costs, and whose epochs have several mini-batches (Lasso: one)."""
    return [
        JobKind(
            "nmf", LONG_RATINGS, lambda n: motet.NMF(rank=32, batch_size=n // BATCHES), ENDLESS
        ),
        JobKind(
            "lda", LONG_CORPUS, lambda n: motet.LDA(topics=40, batch_size=n // BATCHES), ENDLESS
        ),
        JobKind(
            "mlr",
            LONG_CLASSES,
            lambda n: motet.MLR(solver="saga", batch_size=n // BATCHES),
            ENDLESS,
        ),
        JobKind("lasso", LONG_NUMBERS, lambda n: motet.Lasso(solver="fista"), ENDLESS),
    ]


Choose = Callable[[GroupingProblem], Grouping]


@dataclass(frozen=True)
class Outcome:
    """Of one schedule of all jobs. `cpu`, `network`: fractions of what the hosts have;
    `start_up_s`: of a job, the mean."""

    jct_s: float
    makespan_s: float
    cpu: float
    network: float
    start_up_s: float


def run_schedule(
    hosts: HostMachines,
    jobs: Sequence[JobKind],
    profile: Sequence[SubtaskProfile],
    choose: Choose,
    *,
    interleaves: bool,
) -> Outcome:
    """Start groups of waiting jobs on idle pairs of hosts, idle again when all of a group ended."""
    waiting, idle = list(range(len(jobs))), list(range(len(hosts) // PAIR))
    running: list[tuple[list[int], list[RunningJob]]] = []
    ended_s: list[float] = []
    start_up_s: list[float] = []
    usage, began_s = HostUsage(NAME), time.monotonic()
    while waiting or running:
        if waiting and idle:
            problem = GroupingProblem.of([profile[job] for job in waiting], len(idle))
            chosen = choose(problem)
            for group in chosen.groups:
                numbers, idle = idle[: group.machines], idle[group.machines :]
                members = [waiting[row] for row in group.jobs]
                started = [
                    begin(hosts, jobs[one], _hosts_of(numbers), interleaves=interleaves, seed=one)
                    for one in members
                ]
                running.append((numbers, started))
            waiting = [job for row, job in enumerate(waiting) if row not in chosen.jobs]
        time.sleep(0.05)
        for entry in [each for each in running if not any(j.thread.is_alive() for j in each[1])]:
            running.remove(entry)
            idle = sorted([*idle, *entry[0]])
            for job in entry[1]:
                job.end()
                ended_s.append(job.ended_s - began_s)
                start_up_s.append(job.start_up_s)
    makespan_s = max(ended_s)
    cpu, network = usage.fractions(makespan_s)
    return Outcome(mean(ended_s), makespan_s, cpu, network, mean(start_up_s))


def _hosts_of(pairs: Sequence[int]) -> list[int]:
    return [PAIR * pair + host for pair in pairs for host in range(PAIR)]


def by_chance(problem: GroupingProblem) -> Grouping:
    """Three groups with about as many jobs and pairs of hosts each."""
    order = list(range(len(problem)))
    Random(0).shuffle(order)
    count = min(3, problem.machines, len(order))
    return Grouping(
        tuple(
            JobGroup(tuple(sorted(order[n::count])), len(range(n, problem.machines, count)))
            for n in range(count)
        )
    )


def schedules(hosts: HostMachines, sizes: int, rounds: int, seconds: float) -> list[Figure]:
    """Every schedule once, all with the same profiles, which are of a pair of hosts."""
    jobs = [
        replace(kind, epochs=rounds * kind.epochs)
        for size in range(1, sizes + 1)
        for kind in kinds(size)
    ]
    endless = [replace(kind, epochs=ENDLESS) for kind in jobs]
    profile = [
        SubtaskProfile.of(1, *one.times)
        for one in _bed(hosts, _hosts_of([0]), CPUS, seconds).alone(endless)
    ]
    found: dict[str, Outcome] = {}
    for name, choose, interleaves in (
        ("isolated", isolated_grouping, False),
        ("naive", by_chance, False),
        ("subtasks", by_chance, True),
        ("grouping", best_grouping, True),
    ):
        found[name] = run_schedule(hosts, jobs, profile, choose, interleaves=interleaves)
        print(name, found[name], flush=True)
    return [figure for name, one in found.items() for figure in _figures(name, one, found)]


def _figures(name: str, one: Outcome, found: dict[str, Outcome]) -> list[Figure]:
    isolated = found["isolated"]
    use = f"cpu {one.cpu:.0%} net {one.network:.0%} start {one.start_up_s:.0f} s"
    return [
        Figure(f"{name}: JCT", f"{one.jct_s:.1f} s", use, isolated.jct_s / one.jct_s),
        Figure(
            f"{name}: makespan",
            f"{one.makespan_s:.1f} s",
            use,
            isolated.makespan_s / one.makespan_s,
        ),
    ]


def _bed(
    hosts: HostMachines,
    numbers: Sequence[int],
    cpus: float,
    seconds: float,
    hurry: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Bed:
    return Bed(hosts, numbers, cpus, seconds, lambda: HostUsage(NAME, numbers), hurry)


def main() -> None:
    """On a testbed that ends with this command."""
    arguments = parser(main.__doc__ or "")
    arguments.add_argument("--part", choices=("prediction", "schedules"), required=True)
    arguments.add_argument("--hosts", type=int, default=8)
    arguments.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    arguments.add_argument(
        "--rounds", type=int, default=ROUNDS, help="how long the schedules' jobs train"
    )
    arguments.add_argument("--sizes", type=int, nargs="+", default=(2, 3, 4))
    arguments.add_argument("--jobs", type=lambda text: text.split(","), help="their names")
    arguments.add_argument("--first", action="store_true", help="before other processes")
    given = arguments.parse_args()
    unwind_when_terminated()
    machines = 2 if given.quick else given.hosts
    is_long = given.part == "prediction"
    cpus, bandwidth = (LONG_CPUS, LONG_BANDWIDTH) if is_long else (CPUS, BANDWIDTH)
    shape = ("--machines", str(machines), "--cpus", str(cpus), "--bandwidth", bandwidth)
    with hosts_up(NAME, *shape, "--no-ray"), host_machines(NAME) as hosts:
        if given.first:
            run_first(NAME)
        if given.part == "schedules":
            figures = schedules(hosts, 1 if given.quick else 3, given.rounds, given.seconds)
        else:
            jobs = [each for each in long_kinds() if not given.jobs or each.name in given.jobs]
            two = range(min(2, machines))
            bed = _bed(hosts, two, cpus, given.seconds, partial(hurried, NAME))
            figures = prediction_figures(predictions(bed, jobs, given.sizes))
    title = f"{machines} hosts with {cpus:g} CPUs and {bandwidth}"
    report(f"harmony_testbed_{given.part}", title, figures)


if __name__ == "__main__":
    main()
