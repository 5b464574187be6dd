"""Harmony on hosts of a testbed with CPU quotas and limited links (Linux, root).

`--part prediction`: jobs of four applications, alone and in all groups of two to four, on the same
hosts; the time of a mini-batch of a group's slowest job against eq. 4.1, with the steps of each job
alone and with those that were measured in the group (the source, W.-Y. Lee 2020, profiles in
groups: the error is always below 5 %).
`--part schedules`: twelve jobs of four applications on all hosts, `isolated` (each job alone on
machines of its own), `naive` (groups by chance), `subtasks` (the same groups, which take turns) and
`grouping` (groups by the model, which take turns). JCT and makespan as times of `isolated`; CPU and
network in use (section 4.4.3: 1.27 and 1.15 by subtasks, 1.72 and 1.35 with groups). Groups have
pairs of hosts, as if no job's data fit on one: a job on one host has no traffic on the network and
nothing to gain from others (measured: `isolated` took one host for each job and was the fastest).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import mean, median

import motet
from motet.estimate.colocation.group_time import group_iteration_on_one_cpu_s, group_iteration_s
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.harmony.baselines import isolated_grouping
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.search import best_grouping
from support.figures import Figure, parser, report
from support.host_cluster import HostMachines, host_machines
from support.host_usage import HostUsage
from support.hosts import hosts_up, unwind_when_terminated
from support.testbed_jobs import JobKind, Measured, RunningJob, begin, measured_together

NAME = "harmonybed"
CPUS, BANDWIDTH = 0.2, "50mbit"
MOST_MEDIAN = 0.05
ENDLESS = 1_000_000
PREDICTIONS = "alone", "in group", "on one CPU"
PAIR = 2
ROUNDS = 8
"""Times the epochs of `kinds`: with once as many, jobs took 1 to 4 s to train and 20 s to start."""
RATINGS = "synthetic-ratings:users=8000,items=1000,density=0.2"
CORPUS = "synthetic-corpus:documents=8000,words=2000,topics=20,length=150"
CLASSES = "synthetic-classification:rows=8000,features=1000,classes=40"
NUMBERS = "synthetic-regression:rows=6000,features=3000,nonzeros=100"


def kinds(size: int) -> list[JobKind]:
    """One job of each application; `size`: 1 to 3, of their models."""
    return [
        JobKind("nmf", RATINGS, lambda n: motet.NMF(rank=32 * size, batch_size=n), 16),
        JobKind("lda", CORPUS, lambda n: motet.LDA(topics=20 * size, batch_size=n), 12),
        JobKind("mlr", CLASSES, lambda n: motet.MLR(solver="saga", batch_size=n), 16),
        JobKind("lasso", NUMBERS, lambda n: motet.Lasso(solver="fista"), 40),
    ]


@dataclass(frozen=True)
class GroupPrediction:
    """Of one group: seconds in which each job ends a mini-batch, as measured, and as predicted from
    the steps of each job alone (`alone_s`), from those that it had in the group (`profiled_s`), and
    from these and the CPU time outside of COMP that each job had alone (`on_one_cpu_s`).
    """

    group: str
    alone_s: float
    profiled_s: float
    on_one_cpu_s: float
    measured_s: float

    @property
    def predicted_s(self) -> tuple[float, float, float]:
        """All predictions."""
        return self.alone_s, self.profiled_s, self.on_one_cpu_s

    @property
    def errors(self) -> tuple[float, float, float]:
        """Of the predictions, relative to what was measured; above 0: predicted too long."""
        one, two, three = (each / self.measured_s - 1 for each in self.predicted_s)
        return one, two, three


def predictions(
    hosts: HostMachines, numbers: Sequence[int], seconds: float
) -> list[GroupPrediction]:
    """All groups of two to four applications."""
    jobs = [replace(kind, epochs=ENDLESS) for kind in kinds(1)]
    alone = profiles(hosts, jobs, numbers, seconds)
    found = []
    for size in (2, 3, 4):
        for group in itertools.combinations(range(len(jobs)), size):
            together = measured_together(hosts, [jobs[one] for one in group], numbers, seconds)
            whole = [one for one in together if one is not None]
            name = "+".join(jobs[one].name for one in group)
            if len(whole) < size:
                print(f"{name}: no whole epoch in {seconds:.0f} s", flush=True)
                continue
            outside_s = [alone[one].outside_s for one in group]
            times = [one.times for one in whole]
            prediction = GroupPrediction(
                name,
                group_iteration_s([alone[one].times for one in group]),
                group_iteration_s(times),
                group_iteration_on_one_cpu_s(times, outside_s),
                max(one.iteration_s for one in whole),
            )
            found.append(prediction)
            print(found[-1], *whole, flush=True)
    return found


def profiles(
    hosts: HostMachines, jobs: Sequence[JobKind], numbers: Sequence[int], seconds: float
) -> list[Measured]:
    """Each job alone on these hosts."""
    found = []
    for kind in jobs:
        (measured,) = measured_together(
            hosts, [kind], numbers, seconds, usage=lambda: HostUsage(NAME, numbers)
        )
        if measured is None:
            raise SystemExit(f"{kind.name}: no whole epoch in {seconds:.0f} s; give more --seconds")
        print(kind.name, measured, flush=True)
        found.append(measured)
    return found


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
        for one in profiles(hosts, endless, _hosts_of([0]), seconds)
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


def main() -> None:
    """On a testbed that ends with this command."""
    arguments = parser(main.__doc__ or "")
    arguments.add_argument("--part", choices=("prediction", "schedules"), required=True)
    arguments.add_argument("--hosts", type=int, default=8)
    arguments.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    arguments.add_argument(
        "--rounds", type=int, default=ROUNDS, help="how long the schedules' jobs train"
    )
    given = arguments.parse_args()
    unwind_when_terminated()
    machines = 2 if given.quick else given.hosts
    shape = ("--machines", str(machines), "--cpus", str(CPUS), "--bandwidth", BANDWIDTH)
    with hosts_up(NAME, *shape, "--no-ray"), host_machines(NAME) as hosts:
        if given.part == "schedules":
            figures = schedules(hosts, 1 if given.quick else 3, given.rounds, given.seconds)
        else:
            numbers = range(min(4, machines))
            figures = _prediction_figures(predictions(hosts, numbers, given.seconds))
    title = f"{machines} hosts with {CPUS:g} CPUs and {BANDWIDTH}"
    report(f"harmony_testbed_{given.part}", title, figures)


def _prediction_figures(found: Sequence[GroupPrediction]) -> list[Figure]:
    figures = []
    for one in found:
        pairs = zip(PREDICTIONS, one.predicted_s, strict=True)
        figures += [
            Figure(
                f"{one.group}, {name}",
                f"{predicted_s:.3f} s",
                f"{one.measured_s:.3f} s",
                predicted_s / one.measured_s,
            )
            for name, predicted_s in pairs
        ]
    for place, name in enumerate(PREDICTIONS):
        errors = sorted(abs(one.errors[place]) for one in found)
        high = errors[min(int(0.95 * len(errors)), len(errors) - 1)]
        figures += [
            Figure(
                f"error by steps {name}: median",
                f"{median(errors):.1%}",
                f"95 % {high:.1%}",
                median(errors),
                MOST_MEDIAN,
                False,
            ),
            Figure(f"error by steps {name}: maximum", f"{errors[-1]:.1%}"),
        ]
    return figures


if __name__ == "__main__":
    main()
