"""How far a job that comes late stretches the iterations of its neighbour on an Aggregator.

Two jobs of equal iterations share an Aggregator; each aggregates when the other one computes. They
wait in place of computing, the second one for less, since it aggregates for longer. Then its
computation takes five times as long, so that it comes late, at any moment of the cycle. In turns,
the Aggregator runs works in the order of arrival, and enforces its cycle. The first job's
iterations are compared with those of the same round in which it is alone, so that the load of the
machine counts on both sides. A complete run writes the record.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motet.aggregation.control.aggregator_process import AggregatorProcess
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import CycleShare, JobAccess
from motet.transport import new_secret, write_secret
from support.figures import Figure, parser, report
from support.hosts import ROOT
from support.records import report_and_keep
from support.timed_job import TimedJob, iterations

FIRST, SECOND = 1, 2
SIZES = {FIRST: (1 << 18,) * 8, SECOND: (12 << 20,) * 5}
"""Works of the first job are short, those of the second long: a work is not interrupted."""
COMPUTE_S = 0.2
SHORTEST_SHARE = 0.1
"""Of `COMPUTE_S`: the second job has to compute for a while."""
STRETCH = 0.05
SETTLED_S = 2.0
CASES = {
    "alone": (1e9, False),
    "on time, cycle enforced": (1.0, True),
    "late, cycle enforced": (5.0, True),
    "late, order of arrival": (5.0, False),
}
"""How many times as long as planned the second job computes, and whether the cycle is enforced."""
QUOTA_BYTES = 4 << 30


class SharedAggregator:
    """One Aggregator with two jobs, whose workers are processes."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pool_secret = new_secret()
        write_secret(self.folder / "secret", pool_secret)
        self._process = stack.enter_context(AggregatorProcess(self.folder / "secret"))
        self.control = RemoteAggregator(self._process.endpoint, pool_secret)
        stack.callback(self.control.close)
        self.delay_file = self.folder / "delay"
        self._runs = 0

    def set_delay(self, delay: float) -> None:
        """Of the second job, from now on; it never reads a file that is half written."""
        written = self.delay_file.with_suffix(".new")
        written.write_text(str(delay))
        written.replace(self.delay_file)

    def start(self, job: int, compute_s: float) -> TimedJob:
        """A worker; it ends with its file."""
        self._runs += 1
        number, secret = 10 * self._runs + job, new_secret()
        self.control.open_job(JobAccess(number, str(number), secret, QUOTA_BYTES))
        described = TimedJob(
            str(number),
            *(0, 1, SIZES[job], compute_s),
            str(self.folder / f"{number}.out"),
            str(self.folder / f"{number}.end"),
            str(self.delay_file) if job == SECOND else "",
            servers=(self._process.endpoint.encode(),),
            number=number,
            secret=secret.hex(),
        )
        command = [sys.executable, "-m", "support.timed_job", str(described.write(self.folder))]
        process = subprocess.Popen(command, cwd=ROOT / "benchmarks")
        self._stack.callback(process.kill)
        return described

    def end(self, job: TimedJob) -> None:
        """Of its worker, and of the job."""
        Path(job.end_file).touch()
        self.control.close_job(job.number)

    def profile(self, job: TimedJob) -> tuple[float, int]:
        """Iteration (s) and CPU time of an iteration (ns)."""
        (found,) = [each for each in self.control.measurements() if each.job == job.number]
        return found.iteration_ns / 1e9, sum(found.tensor_ns.values())


def durations(job: TimedJob, seconds: float) -> np.ndarray:
    """Of the iterations that begin and end in the time from now on."""
    began_s = time.time()
    time.sleep(seconds)
    found = iterations(Path(job.out))
    return found[found[:, 0] - found[:, 1] >= began_s, 1]


def warm(job: TimedJob, count: int) -> None:
    """Wait for so many iterations."""
    while len(iterations(Path(job.out))) < count:
        time.sleep(0.05)


@dataclass(frozen=True)
class Stretch:
    """Of the first job's iterations against the median when it is alone in the same round, as
    shares. `above`: iterations that are longer by more than `STRETCH`.
    """

    mean: float
    largest: float
    above: float

    @classmethod
    def of(cls, durations_s: np.ndarray, alone_s: float) -> Stretch:
        shares = durations_s / alone_s - 1
        return cls(float(shares.mean()), float(shares.max()), float((shares > STRETCH).mean()))


def profile_of(shared: SharedAggregator, job: TimedJob) -> tuple[float, int]:
    """Of a job that has just begun; the first one is alone then."""
    warm(job, 30)
    iteration_s, work_ns = shared.profile(job)
    print(f"job {job.number}: {iteration_s * 1e3:.0f} ms, CPU {work_ns / 1e6:.1f} ms", flush=True)
    return iteration_s, work_ns


def plan(
    jobs: list[TimedJob], profiles: list[tuple[float, int]]
) -> tuple[float, int, list[CycleShare]]:
    """The share of `COMPUTE_S` for which the second job computes, so that its iterations are as
    long as the first one's; the cycle, and what each job uses of it."""
    (first_s, _), (second_s, _) = profiles
    planned = max(1 - (second_s - first_s) / COMPUTE_S, SHORTEST_SHARE)
    print(f"job 2 computes for {planned * COMPUTE_S * 1e3:.0f} ms")
    cycle_ns = int(1e9 * first_s)
    return (
        planned,
        cycle_ns,
        [
            CycleShare(job.number, cycle_ns, 1, work_ns)
            for job, (_, work_ns) in zip(jobs, profiles, strict=True)
        ],
    )


def stretches(rounds: int, seconds: float) -> dict[str, list[Stretch]]:
    """By case, of each round."""
    found: dict[str, list[Stretch]] = {case: [] for case in CASES}
    with ExitStack() as stack:
        shared = SharedAggregator(stack)
        jobs = [shared.start(FIRST, COMPUTE_S)]
        profiles = [profile_of(shared, jobs[0])]
        jobs.append(shared.start(SECOND, COMPUTE_S))
        profiles.append(profile_of(shared, jobs[1]))
        planned, cycle_ns, shares = plan(jobs, profiles)
        for _ in range(rounds):
            alone_s = 0.0
            for case, (delay, is_enforced) in CASES.items():
                shared.set_delay(delay * planned)
                shared.control.set_cycle(*((cycle_ns, shares) if is_enforced else (0, ())))
                time.sleep(SETTLED_S)
                durations_s = durations(jobs[0], seconds)
                alone_s = alone_s or float(np.median(durations_s))
                found[case].append(Stretch.of(durations_s, alone_s))
                print(f"{case}: {found[case][-1]}", flush=True)
        for job in jobs:
            shared.end(job)
    return found


def figures_of(found: dict[str, list[Stretch]]) -> list[Figure]:
    """Medians over the rounds."""
    figures = []
    noise = statistics.median(each.above for each in found["alone"])
    for case, rounds in found.items():
        above = statistics.median(each.above for each in rounds)
        mean = statistics.median(each.mean for each in rounds)
        largest = statistics.median(each.largest for each in rounds)
        is_enforced = case == "late, cycle enforced"
        figures += [
            Figure(f"{case}: mean stretch", f"{mean:.1%}"),
            Figure(f"{case}: largest stretch", f"{largest:.1%}"),
            Figure(
                f"{case}: iterations stretched by > 5 %",
                f"{above:.1%}",
                f"alone {noise:.1%}",
                above - noise,
                0.01 if is_enforced else None,
                at_least=False,
            ),
        ]
    return figures


def main() -> None:
    """Measure and report; `--quick` takes one shorter round."""
    given = parser(__doc__).parse_args()
    found = stretches(*((1, 10.0) if given.quick else (3, 12.0)))
    name, title = "late_requests", "A late job beside a neighbour"
    if given.quick:
        report(name, title, figures_of(found), plot=False)
    else:
        report_and_keep(name, title, figures_of(found))


if __name__ == "__main__":
    main()
