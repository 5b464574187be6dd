"""Pairs of jobs that share GPUs, as row numbers. Compiled; functions change arrays in place."""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Ints
from motet.domain.decision import Wait
from motet.domain.snapshot import UNKNOWN

_RUNS = int(Wait.RUNS)


@njit(cache=True)
def partner_rows(number: Ints, partner: Ints) -> Ints:
    """By row, the row of the job whose number is `partner`; UNKNOWN where there is none.

    A hash table of the jobs with partners: a sort by number takes five times as long.
    """
    rows, size = np.full_like(partner, UNKNOWN), 64
    while size < 2 * len(number):
        size *= 2
    table = np.full(size, UNKNOWN)
    for row in range(len(number)):
        if partner[row] != UNKNOWN:
            table[_place_of(number[row], table, number)] = row
    for row in range(len(number)):
        if partner[row] != UNKNOWN:
            rows[row] = table[_place_of(partner[row], table, number)]
    return rows


@njit(cache=True)
def _place_of(job: int, table: Ints, number: Ints) -> int:
    """The place of a job's row in the table, or the free one for it."""
    place = job & (len(table) - 1)
    while table[place] != UNKNOWN and number[table[place]] != job:
        place = (place + 1) & (len(table) - 1)
    return place


@njit(cache=True)
def part_slow_pairs(other: Ints, rate: Ints, alone: Ints, unpackable: Ints) -> None:
    """Part pairs that progress no faster than one job alone, and mark both as `unpackable`.

    `rate`, `alone`: speeds of the jobs together and alone.
    """
    before = other.copy()
    for row in range(len(before)):
        with_it = before[row]
        if with_it == UNKNOWN:
            continue
        together = rate[row] * alone[with_it] + rate[with_it] * alone[row]
        if together <= alone[row] * alone[with_it]:
            unpackable[row] = 1
            other[row] = UNKNOWN


@njit(cache=True)
def later_of_pairs(other: Ints, last_start_us: Ints, number: Ints) -> Bools:
    """`(jobs,)`: of each pair the job that started later; of equal ones that of higher number."""
    is_later = np.zeros(len(other), np.bool_)
    for row in range(len(other)):
        with_it = other[row]
        if with_it == UNKNOWN:
            continue
        if last_start_us[row] != last_start_us[with_it]:
            is_later[row] = last_start_us[row] > last_start_us[with_it]
        else:
            is_later[row] = number[row] > number[with_it]
    return is_later


@njit(cache=True)
def join_running_hosts(
    guest: Bools,
    other: Ints,
    wanted: Ints,
    number: Ints,
    gpus: Ints,
    code: Ints,
    position: Ints,
    group: Ints,
) -> None:
    """Guests run whose hosts run."""
    for row in range(len(guest)):
        if guest[row] and gpus[other[row]]:
            _join(row, other[row], wanted, number, gpus, code, position, group)


def pack_waiting(
    order: Ints,
    unpackable: Ints,
    wanted: Ints,
    number: Ints,
    gpus: Ints,
    code: Ints,
    position: Ints,
    group: Ints,
) -> None:
    """Put waiting jobs, along `order`, onto the GPUs of jobs of equal size that run alone, the
    lowest number first; except jobs marked in `unpackable`.
    """
    hosts = np.flatnonzero((gpus > 0) & (group == UNKNOWN) & (unpackable == 0))
    if len(hosts):
        hosts = hosts[np.lexsort((number[hosts], gpus[hosts]))]
        _pack(order, hosts, unpackable, wanted, number, gpus, code, position, group)


@njit(cache=True)
def _pack(
    order: Ints,
    hosts: Ints,
    unpackable: Ints,
    wanted: Ints,
    number: Ints,
    gpus: Ints,
    code: Ints,
    position: Ints,
    group: Ints,
) -> None:
    """`hosts`: by their GPUs, then number."""
    sizes, left = gpus[hosts], len(hosts)
    taken = np.zeros(len(hosts), np.int64)  # At the first host of each size.
    for row in order:
        if left == 0:
            break
        if gpus[row] > 0 or unpackable[row]:
            continue
        first = np.searchsorted(sizes, wanted[row])
        if first == len(sizes) or sizes[first] != wanted[row]:
            continue
        place = first + taken[first]
        if place < len(sizes) and sizes[place] == wanted[row]:
            taken[first] += 1
            left -= 1
            _join(row, hosts[place], wanted, number, gpus, code, position, group)


@njit(cache=True)
def _join(
    row: int,
    host: int,
    wanted: Ints,
    number: Ints,
    gpus: Ints,
    code: Ints,
    position: Ints,
    group: Ints,
) -> None:
    gpus[row] = wanted[row]
    code[row] = _RUNS
    position[row] = len(group) + position[row]
    group[row] = group[host] = number[host]
