"""What a reader of accounting logs assumed or left out, a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from motet.sim.traces.formats.slurm.job_runs import JobsOfLog, SlurmJob

_COMPLETED = "COMPLETED"


def reasons_to_leave_out(idle: Sequence[SlurmJob], slotless: int, kept: int) -> str:
    """Why jobs are left out: `idle` never started, `slotless` ask for no GPU."""
    parts = []
    if idle:
        parts.append(f"never started ({_by_state(idle)})")
    if slotless:
        hint = "" if kept else ", to let CPUs count: --columns num_gpus=AllocCPUS"
        parts.append(f"ask for no GPU ({slotless:,}{hint})")
    return " or ".join(parts)


def notices_of(log: JobsOfLog, kept: Sequence[SlurmJob], restarts: Sequence[str]) -> list[str]:
    """`kept`: the jobs of the trace; `restarts`: the field of that name of their first records."""
    found = []
    if log.repeated:
        found.append(f"{_count(log.repeated, 'record')} of runs that others show later: not read")
    if log.reused:
        found.append(f"{_count(log.reused, 'job')} with the number of an earlier job: #2 appended")
    if several := [job for job in kept if job.runs > 1]:
        found.append(
            f"{_count(len(several), 'job')} ran several times (requeued): the duration is the sum "
            "of the runs"
        )
    if lost := _lost_runs(kept, restarts):
        found.append(
            f"{_count(lost, 'job')} was restarted, but the log has one run and a later submission; "
            "sacct --duplicates has all runs"
        )
    if parts := [job for job in kept if job.components > 1]:
        components = sum(job.components for job in parts)
        whole = _count(len(parts), "heterogeneous job")
        found.append(f"{components:,} components of {whole}: read as one job with all GPUs")
    if early := [job for job in kept if not job.is_cut and job.state not in ("", _COMPLETED)]:
        found.append(
            f"{_count(len(early), 'job')} did not complete ({_by_state(early)}): the duration is "
            "the time until then"
        )
    if cut := [job for job in kept if job.is_cut]:
        found.append(
            f"{_count(len(cut), 'job')} had not ended ({_by_state(cut)}): the duration is the time "
            "so far"
        )
    return found


def _lost_runs(kept: Sequence[SlurmJob], restarts: Sequence[str]) -> int:
    pairs = zip(kept, restarts, strict=True)
    return sum(job.runs == 1 and text.strip("0 ").isdecimal() for job, text in pairs)


def _by_state(jobs: Sequence[SlurmJob]) -> str:
    counts = Counter(job.state or "no state" for job in jobs).most_common()
    return ", ".join(f"{state} {count:,}" for state, count in counts)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
