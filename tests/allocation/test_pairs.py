"""Jobs that share GPUs in pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.pairs import later_of_pairs, pack_waiting, part_slow_pairs, partner_rows
from motet.domain.arrays import read_only
from motet.domain.snapshot import UNKNOWN

NONE = UNKNOWN


def rows_of_partners(number: list[int], partner: list[int]) -> list[int]:
    columns = (read_only(np.array(each, np.int64)) for each in (number, partner))
    found: list[int] = partner_rows(*columns).tolist()
    return found


def test_a_partner_is_found_by_its_number() -> None:
    assert rows_of_partners([7, 3, 5, 4], [4, NONE, NONE, 7]) == [3, NONE, NONE, 0]


@given(
    number=st.lists(st.integers(0, 2**40), unique=True, max_size=80),
    apart=st.sampled_from([1, 64, 4096]),
    data=st.data(),
)
def test_a_partner_is_found_among_numbers_that_end_alike(
    number: list[int], apart: int, data: st.DataObject
) -> None:
    number = [each * apart for each in number]
    pairs = data.draw(st.integers(0, len(number) // 2))
    partner = [NONE] * len(number)
    for row in range(pairs):
        partner[row], partner[pairs + row] = number[pairs + row], number[row]
    expected = [NONE if each == NONE else number.index(each) for each in partner]
    assert rows_of_partners(number, partner) == expected


def test_a_pair_that_is_no_faster_than_one_job_alone_is_parted() -> None:
    other, unpackable = np.array([1, 0, 3, 2, NONE]), np.zeros(5, np.int64)
    rate, alone = np.array([5, 5, 6, 5, 1]), np.full(5, 10)
    part_slow_pairs(other, read_only(rate), read_only(alone), unpackable)
    assert other.tolist() == [NONE, NONE, 3, 2, NONE]
    assert unpackable.tolist() == [1, 1, 0, 0, 0]


def test_the_later_job_of_a_pair_then_the_one_of_higher_number() -> None:
    other, start = np.array([1, 0, 3, 2, NONE]), np.array([9, 2, 4, 4, 99])
    later = later_of_pairs(other, read_only(start), read_only(np.array([0, 1, 3, 2, 4])))
    assert later.tolist() == [True, False, True, False, False]


job = st.tuples(st.integers(1, 3), st.booleans(), st.booleans(), st.booleans())


@given(jobs=st.lists(job, min_size=1, max_size=14), data=st.data())
def test_waiting_jobs_join_the_first_job_of_their_size_that_is_alone(
    jobs: list[tuple[int, bool, bool, bool]], data: st.DataObject
) -> None:
    size = len(jobs)
    number = data.draw(st.permutations(range(size)))
    order = data.draw(st.permutations(range(size)))
    wanted = [each[0] for each in jobs]
    gpus = [each[0] * each[1] for each in jobs]
    unpackable = [int(each[2]) for each in jobs]
    group = [99 if each[3] and each[1] else NONE for each in jobs]

    found = np.array(group), np.array(gpus), np.ones(size, np.int64), np.zeros(size, np.int64)
    columns = found[1], found[2], found[3], found[0]
    of_jobs = map(read_only, map(np.array, (wanted, number)))
    pack_waiting(np.array(order), np.array(unpackable), *of_jobs, *columns)

    hosts = sorted(
        (row for row in range(size) if gpus[row] and group[row] == NONE and not unpackable[row]),
        key=lambda row: number[row],
    )
    for row in order:
        if gpus[row] or unpackable[row]:
            continue
        host = next((each for each in hosts if gpus[each] == wanted[row]), None)
        if host is not None:
            hosts.remove(host)
            gpus[row], group[row], group[host] = wanted[row], number[host], number[host]
    assert found[1].tolist() == gpus
    assert found[0].tolist() == group
