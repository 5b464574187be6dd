"""What lenders have to know of the jobs: memory that they have requested, and who may borrow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from motet.live.jobs.job import LiveJob
from motet.live.launcher.rank_files import rank_folder
from motet.live.master.requests import Workplace, name_in_pool, rank_machines
from motet.live.master.state import LiveState
from motet.remote_memory.wire.memory_views import LendingTerms


@dataclass(frozen=True)
class JobMemory:
    """The present attempt of a job. `name`: for the lenders. `requests`: bytes by process (its
    folder), by machine."""

    number: int
    attempt: int
    name: str
    requests: Mapping[str, Mapping[str, int]]


def job_memory(state: LiveState, job: LiveJob, workplace: Workplace) -> JobMemory | None:
    """None: the job has no processes, and none is being started."""
    attempt = job.attempt
    if attempt is None or attempt.has_ended:
        return None
    folder = workplace.attempt_folder(job.number, attempt.began)
    requests: dict[str, dict[str, int]] = defaultdict(dict)
    if job.spec.memory:
        gone = () if attempt.roster is None else attempt.roster.dismissed
        for rank, machine in enumerate(rank_machines(state, job, attempt)):
            if rank in gone:
                continue
            requests[machine][str(rank_folder(folder, rank))] = int(job.spec.memory)
    return JobMemory(job.number, attempt.began, name_in_pool(job, attempt), requests)


@dataclass(frozen=True)
class TermsOfLenders:
    """`requests`: bytes by process, by machine. `attempts`: of jobs that have processes, by the
    names in `jobs`, which may borrow."""

    requests: Mapping[str, Mapping[str, int]]
    attempts: Mapping[str, tuple[int, int]]
    jobs: tuple[str, ...]

    def of(self, machine: str) -> LendingTerms:
        """For the lender of a machine."""
        return LendingTerms(self.requests.get(machine, {}), self.jobs)


@dataclass
class JobRequests:
    """Follows the jobs. Not thread-safe."""

    workplace: Workplace
    _by_job: dict[int, JobMemory] = field(default_factory=dict)

    def follow(self, state: LiveState, jobs: Iterable[LiveJob]) -> bool:
        """Take over jobs that have changed; returns whether lenders have to know."""
        is_news = False
        for job in jobs:
            found, before = job_memory(state, job, self.workplace), self._by_job.get(job.number)
            if found == before:
                continue
            is_news = True
            self._by_job.pop(job.number, None)
            if found is not None:
                self._by_job[job.number] = found
        return is_news

    def terms(self) -> TermsOfLenders:
        """As they are now, by one pass over the jobs."""
        requests: dict[str, dict[str, int]] = defaultdict(dict)
        for each in self._by_job.values():
            for machine, found in each.requests.items():
                requests[machine] |= found
        attempts = {each.name: (each.number, each.attempt) for each in self._by_job.values()}
        return TermsOfLenders(requests, attempts, tuple(sorted(attempts)))
