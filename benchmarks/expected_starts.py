"""How many starts of kept live runs are within their predicted ranges, and what a prediction costs.

Reads the journals that `benchmarks/live_fidelity.py --keep FOLDER` has kept (`FOLDER/POLICY`) and
predicts, every five seconds as a server on an idle machine does, the starts of all jobs that wait
for the first time since then. The forecaster sees the records until that moment only. Printed for
every journal: how many starts came about within the range (and within a tenth of a second of it, as
`motet explain --coverage` counts), the median width, and CPU-seconds per round. Targets: of the
starts of all given journals of a policy, 85 to 95 %.

`benchmarks/expected_starts.py runs/0 runs/1`
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from motet.domain.units import SECOND_US, seconds
from motet.interfaces.forecasts.expected_starts import ExpectedStart, expected_starts
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.interfaces.forecasts.prediction_store import TOLERANCE_US
from support.figures import Figure, parser, report

EVERY_US = 5 * SECOND_US
LEAST, MOST = 0.85, 0.95


@dataclass(frozen=True)
class Wait:
    """The first prediction of a wait, and its end."""

    expected: ExpectedStart
    started_us: int

    def is_within(self, tolerance_us: int = 0) -> bool:
        """Whether the start is in the range."""
        low_us, high_us = self.expected.low_us, self.expected.high_us
        if low_us is None or high_us is None:
            return False
        return low_us - tolerance_us <= self.started_us <= high_us + tolerance_us

    @property
    def width_s(self) -> float:
        """Of the range."""
        return seconds((self.expected.high_us or 0) - (self.expected.low_us or 0))


@dataclass(frozen=True)
class Run:
    """What the predictions of one journal came to. `waits`: those with a range; `unknown`: how many
    had none."""

    policy: str
    waits: Sequence[Wait]
    unknown: int
    cpu_s: float

    @classmethod
    def of(cls, path: Path) -> Run:
        """Of a journal."""
        whole, journal = FollowedJournal(str(path)), FollowedJournal(str(path))
        whole.read()
        found, rounds_cpu_s = list[Wait](), list[float]()
        seen: set[tuple[int, int]] = set()
        for now_us in moments(whole):
            journal.read(now_us)
            began_s = time.process_time()
            futures = PossibleFutures(journal.cluster, now_us, journal.position)
            new = {
                job: (job, len(journal.cluster.state.jobs[job].attempts)) for job in futures.waiting
            }
            wanted = frozenset(job for job, wait in new.items() if wait not in seen)
            if wanted:
                starts = expected_starts(futures, wanted, lambda _: None)
                rounds_cpu_s.append(time.process_time() - began_s)
                found += came_about(whole, starts, new)
            seen |= {*new.values()}
        known = [each for each in found if each.expected.is_known]
        policy = whole.cluster.state.policy.policy
        return cls(policy, known, len(found) - len(known), sum(rounds_cpu_s) / len(rounds_cpu_s))


def moments(whole: FollowedJournal) -> range:
    """Of predictions: from the first submission to the last end."""
    jobs = whole.cluster.state.jobs.values()
    first_us = min(job.submitted_us for job in jobs)
    return range(first_us + EVERY_US, max(job.ended_us or 0 for job in jobs), EVERY_US)


def came_about(
    whole: FollowedJournal, starts: dict[int, ExpectedStart], waits: dict[int, tuple[int, int]]
) -> Iterator[Wait]:
    """Waits that ended without a start are left out."""
    for job, expected in starts.items():
        attempts = whole.cluster.state.jobs[job].attempts
        if len(attempts) > waits[job][1]:
            yield Wait(expected, attempts[waits[job][1]].requested_us)


def share(waits: Sequence[Wait], tolerance_us: int) -> float:
    """Of the starts that came about within their ranges."""
    return sum(each.is_within(tolerance_us) for each in waits) / len(waits)


def figures_of(name: str, runs: Sequence[Run]) -> Iterator[Figure]:
    """Of the journals of a policy together."""
    waits = [each for run in runs for each in run.waits]
    measured = share(waits, TOLERANCE_US)
    widths_s = [each.width_s for each in waits]
    yield Figure(f"{name}: starts within ranges", f"{measured:.0%}", "", measured, LEAST)
    yield Figure(f"{name}: at most", f"{measured:.0%}", "", measured, MOST, at_least=False)
    yield Figure(f"{name}: strictly within", f"{share(waits, 0):.0%} of {len(waits)}")
    yield Figure(f"{name}: median width", f"{median(widths_s):.1f} s")
    yield Figure(f"{name}: unknown", str(sum(run.unknown for run in runs)))
    cpu_s = sum(run.cpu_s for run in runs) / len(runs)
    yield Figure(f"{name}: CPU of a round", f"{cpu_s:.2f} s")


def main() -> None:
    """Measure and report."""
    made = parser(__doc__ or "")
    made.add_argument("folders", type=Path, nargs="+", help="of live_fidelity.py --keep")
    options = made.parse_args()
    runs, figures = defaultdict[str, list[Run]](list), list[Figure]()
    for path in (path for each in options.folders for path in sorted(each.glob("*/journal.db"))):
        run = Run.of(path)
        runs[run.policy].append(run)
        widths_s = [each.width_s for each in run.waits]
        inside = sum(each.is_within(TOLERANCE_US) for each in run.waits)
        name = f"{path.parts[-3]}/{path.parts[-2]}: within, width"
        print(f"{name}: {inside} of {len(run.waits)}, {median(widths_s):.1f} s", flush=True)
        figures.append(Figure(name, f"{inside} of {len(run.waits)}", f"{median(widths_s):.1f} s"))
    for policy, each in runs.items():
        figures += figures_of(policy, each)
    report("expected_starts", "starts of live runs within their predicted ranges", figures, False)


if __name__ == "__main__":
    main()
