"""Sizes that jobs propose: granted from what the decision leaves, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.queues.queue_limits import QueueLimits
from motet.domain.snapshot import Placement, Queues, Snapshot
from motet.domain.wait import Wait
from motet.engine.actions.granted_sizes import Proposals, with_granted_sizes
from motet.engine.actions.staying_jobs import StayingJobs
from policy_snapshots import snapshot

GPUS, MOST = 12, 6
NO_MACHINES: Ints = np.zeros(0, dtype=np.int64)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Snapshot, Decision, Proposals]:
    """Jobs with one server each and one to three workers, which propose up to MOST workers; the
    first two queues have limits that what runs is within. Some jobs wait for their queue."""
    size = draw(st.integers(1, 4))
    workers = draw(st.lists(st.integers(1, 2), min_size=size, max_size=size))
    runs = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    proposed = draw(st.lists(st.integers(1, MOST), min_size=size, max_size=size))
    queue = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    gpus = [count + 1 for count in workers]
    starts = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    gets = [is_held or begins for is_held, begins in zip(runs, starts, strict=True)]
    of_queue = [
        sum(each for each, own, has in zip(gpus, queue, gets, strict=True) if has and own == number)
        for number in (0, 1)
    ]
    most = [held + draw(st.integers(0, 4)) for held in of_queue]
    held = [count if is_held else 0 for count, is_held in zip(gpus, runs, strict=True)]
    seen = snapshot(
        ClusterSpec.of([GPUS]),
        size,
        places={row: Placement((0,), (count,)) for row, count in enumerate(held) if count},
        gpus=gpus,
        workers=workers,
        servers=1,
        min_workers=1,
        max_workers=[max(pair) for pair in zip(workers, proposed, strict=True)],
        min_servers=1,
        max_servers=1,
        server_gpus=1,
        held_gpus=held,
        held_workers=[count - 1 if count else 0 for count in held],
        held_servers=[int(count > 0) for count in held],
        queue=queue,
    )
    limits = tuple(QueueLimits(guarantee=each, borrow=0) for each in most)
    seen = replace(seen, queues=Queues(("a", "b"), limits))
    wanted = np.where(np.array(gets), gpus, 0).astype(np.int64)
    code = np.where(wanted > 0, int(Wait.RUNS), int(Wait.QUEUE_LIMIT)).astype(np.int64)
    decision = Decision(wanted, Reasons(code, wanted, np.arange(size)))
    columns = np.array(proposed, dtype=np.int64), np.ones(size, dtype=np.int64)
    return seen, decision, Proposals(np.arange(size), *columns)


def granted(seen: Snapshot, decision: Decision, proposals: Proposals) -> Decision:
    return with_granted_sizes(decision, seen, proposals, StayingJobs.of(seen, NO_MACHINES))


@settings(max_examples=examples(200))
@given(situations())
def test_jobs_grow_within_free_gpus_limits_of_queues_and_their_proposals(
    situation: tuple[Snapshot, Decision, Proposals],
) -> None:
    seen, decision, proposals = situation
    found = granted(*situation)
    proposed = proposals.workers + proposals.servers
    runs = decision.gpus > 0
    assert found.gpus.sum() <= GPUS
    assert (found.gpus[~runs] == 0).all()
    assert (found.gpus <= np.maximum(proposed, 0))[runs].all()
    assert (found.gpus >= np.minimum(decision.gpus, proposed))[runs].all()
    for number, limits in enumerate(seen.queues.limits):
        held = int(found.gpus[seen.jobs.queue == number].sum())
        assert limits.most is None or held <= limits.most
    for row in np.flatnonzero(runs & (found.gpus < proposed)).tolist():
        assert row in found.refused
    if found.workers is not None and found.servers is not None:
        assert (found.workers + found.servers == found.gpus).all()


@settings(max_examples=examples(100))
@given(situations(), st.sampled_from([Wait.TOO_FEW_GPUS, Wait.ORDER, Wait.TOO_FEW_CPUS]))
def test_no_job_grows_while_another_one_waits_for_gpus(
    situation: tuple[Snapshot, Decision, Proposals], wait: Wait
) -> None:
    seen, decision, proposals = situation
    if bool((decision.gpus > 0).all()):
        return
    code = np.where(decision.gpus > 0, int(Wait.RUNS), int(wait))
    decision = replace(decision, reasons=replace(decision.reasons, code=code))
    assert (granted(seen, decision, proposals).gpus <= decision.gpus).all()
