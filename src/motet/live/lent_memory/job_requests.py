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
    folder = workplace.attempt_folder(job.number, attempt.number)
    requests: dict[str, dict[str, int]] = defaultdict(dict)
    if job.spec.memory:
        for rank, machine in enumerate(rank_machines(state, job, attempt)):
            requests[machine][str(rank_folder(folder, rank))] = int(job.spec.memory)
    return JobMemory(job.number, attempt.number, name_in_pool(job, attempt), requests)


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

    @property
    def attempts(self) -> Mapping[str, tuple[int, int]]:
        """Job and attempt by the name for the lenders, of those that have processes."""
        return {each.name: (each.number, each.attempt) for each in self._by_job.values()}

    def terms(self, machine: str | None) -> LendingTerms:
        """For the lender of a machine, or of all machines (None)."""
        requests: dict[str, int] = {}
        for each in self._by_job.values():
            for place, found in each.requests.items():
                if machine in (None, place):
                    requests |= found
        return LendingTerms(requests, tuple(sorted(each.name for each in self._by_job.values())))
