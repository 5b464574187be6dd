"""Sizes that trainings propose for themselves, as facts and events. Pure."""

from __future__ import annotations

from motet.domain.events import SizeProposed
from motet.live.jobs.attempt import Attempt, AttemptPhase
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.live.launcher.messages import SizeWish
from motet.live.master.facts import SizeSuggested
from motet.live.master.intake_result import Intake


def proposal_intake(job: LiveJob, attempt: Attempt, wish: SizeWish) -> Intake:
    """A proposal within the bounds of the job. Repeated ones are not news.

    An attempt that is being stopped, or has ended, has no say any more: the next one measures the
    job again, and proposes what it finds.
    """
    spec, known = job.spec, job.proposal
    is_over = attempt.phase in (AttemptPhase.STOPPING, AttemptPhase.ENDED) or job.state.is_final
    is_known = known is not None and (known.attempt, known.number) >= (attempt.number, wish.number)
    if is_over or is_known or not (isinstance(spec, TrainingSpec) and spec.proposes_size):
        return Intake()
    least, most = spec.least, spec.most
    workers = min(max(wish.workers, least.workers), most.workers)
    servers = min(max(wish.servers, least.servers), most.servers)
    fact = SizeSuggested(job.number, attempt.number, wish.number, workers, servers, wish.gain)
    return Intake((fact,), (SizeProposed(job.number, workers, servers, wish.gain),))
