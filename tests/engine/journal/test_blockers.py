"""The compiled search agrees with one that sorts jobs in plain Python."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions import decision
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.log_entry import OtherJobs
from motet.domain.snapshot import UNKNOWN
from motet.domain.wait import BlockerRule, Wait
from motet.engine.journal.blocker_search import MOST_NAMED
from motet.engine.journal.blockers import row_of, rows_to_tell
from policy_snapshots import snapshot

CLUSTER = ClusterSpec.uniform(20, 8)
_CODES = (Wait.TOO_FEW_GPUS, Wait.BEHIND_HEAD, Wait.QUOTA, Wait.ORDER)


class Job(NamedTuple):
    """`wanted`: GPUs that it requests. `gpus`: that it holds from now on. `then`, `before`: code
    and position of its last entry."""

    wanted: int
    gpus: int
    code: int
    queue: int
    then: int
    before: int


def job_of(random: Random) -> Job:
    code = random.choice(_CODES)
    gpus = random.choice((0, 0, 1, 3))
    return Job(
        wanted=random.randrange(1, 9),
        gpus=gpus,
        code=Wait.RUNS if gpus else code,
        queue=random.randrange(3),
        then=random.choice((UNKNOWN, code)),
        before=random.randrange(-1, 90),
    )


def blockers(row: int, of: list[Job], place: list[int]) -> OtherJobs:
    rule, job = Wait(of[row].code).reason.blockers, of[row]
    in_order = sorted(range(len(of)), key=lambda each: (place[each], each))
    holders = [each for each in in_order if of[each].gpus]
    if rule is BlockerRule.HEAD_OF_LINE:
        heads = [each for each in in_order if of[each].code not in (Wait.RUNS, Wait.BEHIND_HEAD)]
        own = [each for each in heads if of[each].queue == job.queue]
        named = tuple((100 + each, of[each].wanted) for each in (own or heads)[:1])
        return OtherJobs(named, len(named))
    if rule is BlockerRule.HOLDERS_OF_QUEUE:
        holders = [each for each in holders if of[each].queue == job.queue]
    elif rule is BlockerRule.HOLDERS_BEFORE and place[row] != UNKNOWN:
        holders = [each for each in holders if place[each] < place[row]]
    named = tuple((100 + each, of[each].gpus) for each in holders[:MOST_NAMED])
    return OtherJobs(named, len(holders))


def waiting_before(row: int, of: list[Job], place: list[int]) -> int:
    ahead = sum(each.gpus > 0 and at < place[row] for each, at in zip(of, place, strict=True))
    return UNKNOWN if place[row] == UNKNOWN else place[row] - ahead


@settings(max_examples=examples(200))
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_new_waits_and_their_blockers_are_those_of_the_order(
    seed: int, looks: bool, has_order: bool
) -> None:
    random = Random(seed)
    size = random.randrange(1, 60)
    of = [job_of(random) for _ in range(size)]
    place = random.sample(range(size), size) if has_order else [UNKNOWN] * size
    numbers = [100 + row for row in range(size)]
    wanted, queues = [job.wanted for job in of], [job.queue for job in of]
    seen = snapshot(CLUSTER, size, number=numbers, gpus=wanted, queue=queues)
    made = decision([job.gpus for job in of])
    made.reasons.code[:] = [job.code for job in of]
    made.reasons.position[:] = place
    known = np.full((4, 200), UNKNOWN)
    codes, positions = known[:2]
    codes[numbers] = [job.then for job in of]
    positions[numbers] = [job.before for job in of]
    told = rows_to_tell(seen, made, known, looks=looks)
    assert told is not None
    found = told.waits
    expected = []
    for row, job in enumerate(of):
        before = waiting_before(row, of, place)
        is_nearer = looks and 0 <= before < job.before and before * 4 <= job.before
        if job.code != Wait.RUNS and (job.code != job.then or is_nearer):
            named = blockers(row, of, place)
            expected.append((row, 100 + row, job.wanted, job.code, before, named))
    assert [(w.row, w.job, w.gpus, w.code, w.before, w.blockers) for w in found] == expected
    assert codes[numbers].tolist() == [job.code for job in of]
    assert {wait.job: wait.before for wait in found} == {
        wait.job: positions[wait.job] for wait in found
    }


def test_rows_are_found_by_their_jobs() -> None:
    numbers = np.array([7, 3, 9])
    assert (row_of(numbers, 7), row_of(numbers, 9)) == (0, 2)


def test_jobs_on_another_level_are_told_and_unknown_jobs_are_not() -> None:
    levels = {"level": np.array([0, 4, 1])}
    seen = snapshot(CLUSTER, 3, number=[7, 3, 9], memory=levels)
    made = decision([0, 1, 1])
    made.reasons.code[:] = [Wait.ORDER, Wait.RUNS, Wait.RUNS]
    known = np.full((4, 10), UNKNOWN)
    known[2, [7, 3, 9]] = [0, 4, 0]
    few = known[:, :9].copy()
    assert rows_to_tell(seen, made, few, looks=True) is None
    assert (few == known[:, :9]).all()
    told = rows_to_tell(seen, made, known, looks=False)
    assert told is not None
    assert (told.moved.tolist(), [wait.job for wait in told.waits]) == ([2], [7])
    assert known[0, [7, 3, 9]].tolist() == [Wait.ORDER, Wait.RUNS, Wait.RUNS]
