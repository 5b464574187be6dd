"""What the API, the page and the metrics show of the memory that a cluster lends."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from motet.live.lent_memory.cluster_lenders import LenderStatus, LendingOptions
from motet.live.lent_memory.cluster_memory import MemoryStatus
from motet.live.master.state import LiveState
from motet.live.read_tables.usage import gb_hours
from motet.remote_memory.wire.borrower_names import job_client, job_of_borrower

_COUNTS = ("free_slabs", "mapped_slabs", "evicting_slabs", "evicted", "revoked")
_SIZES = ("total_bytes", "used_bytes", "requested_bytes", "head_room_bytes")


def memory_document(
    status: MemoryStatus, options: LendingOptions, state: LiveState
) -> dict[str, Any]:
    """Lenders in the order of the machines, and the jobs that borrow. `most_bytes`: of each
    machine; None: all that is idle."""
    names = () if state.cluster is None else state.cluster.names
    place_of = {name: place for place, name in enumerate(names)}
    lenders = sorted(status.lenders, key=lambda it: place_of.get(it.machine, len(names)))
    return {
        "slab_bytes": options.slab,
        "most_bytes": options.most,
        "quota_bytes": options.quota,
        "lenders": [_lender_document(each, status) for each in lenders],
        "jobs": _job_documents(status, options.slab, state),
    }


def slabs_by_job(lender: LenderStatus) -> Counter[str]:
    """Slabs that jobs have there, by their names for the lenders."""
    found: Counter[str] = Counter()
    if lender.view is not None:
        for client, slabs in lender.view.clients.items():
            if (name := job_of_borrower(client)) is not None:
                found[name] += slabs
    return found


def _lender_document(lender: LenderStatus, status: MemoryStatus) -> dict[str, Any]:
    """Numbers of a lender that does not answer are 0."""
    view = lender.view
    jobs = {status.jobs[name][0] for name in slabs_by_job(lender) if name in status.jobs}
    return {
        "number": lender.number,
        "machine": lender.machine,
        "address": "" if view is None else view.address,
        "is_running": view is not None,
        "reason": lender.failure,
        **{name: 0 if view is None else getattr(view, name) for name in (*_SIZES, *_COUNTS)},
        "job_ids": [str(number) for number in sorted(jobs)],
    }


def _job_documents(status: MemoryStatus, slab_bytes: int, state: LiveState) -> list[dict[str, Any]]:
    """Jobs that run, and borrow or have borrowed, by id."""
    machines: dict[str, Counter[str]] = defaultdict(Counter)
    for lender in status.lenders:
        for name, slabs in slabs_by_job(lender).items():
            machines[name][lender.machine] += slabs
    found = []
    for name, (number, attempt) in status.jobs.items():
        job = state.jobs.get(number)
        byte_s = _byte_s(status, name)
        if job is None or not (byte_s or name in machines):
            continue
        former = sum(it.borrowed_byte_s_sum for it in job.attempts if it.number != attempt)
        found.append(
            {
                "id": str(number),
                "name": job.spec.name,
                "user": job.user,
                "attempt": attempt,
                "slabs": machines[name].total(),
                "bytes": machines[name].total() * slab_bytes,
                "machines": dict(machines[name]),
                "borrowed_gb_hours": gb_hours(former + byte_s),
            }
        )
    return sorted(found, key=lambda each: int(each["id"]))


def _byte_s(status: MemoryStatus, name: str) -> float:
    """What the present attempt has borrowed, of the lenders that answer."""
    views = [each.view for each in status.lenders if each.view is not None]
    return sum(view.borrowed_byte_s.get(job_client(name), 0.0) for view in views)
