"""The order of rows by submission, kept while rows come and go. Compiled; changed in place."""

from __future__ import annotations

from numba import njit

from motet.domain.arrays import Ints


@njit(cache=True)
def insert_last_row(order: Ints, submit_us: Ints, number: Ints) -> None:
    """The last row has come; `order` has the rows before it."""
    row = len(number) - 1
    place = row
    while place > 0 and _is_before(row, order[place - 1], submit_us, number):
        order[place] = order[place - 1]
        place -= 1
    order[place] = row


@njit(cache=True)
def remove_row(order: Ints, submit_us: Ints, number: Ints, row: int) -> None:
    """A row goes, and the last one gets its number; the columns are as before."""
    last = len(number) - 1
    gap = _place_of(row, order, submit_us, number)
    order[_place_of(last, order, submit_us, number)] = row
    for place in range(gap, last):
        order[place] = order[place + 1]


@njit(cache=True)
def _place_of(row: int, order: Ints, submit_us: Ints, number: Ints) -> int:
    low, high = 0, len(number) - 1
    while low < high:
        middle = (low + high) // 2
        if _is_before(order[middle], row, submit_us, number):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _is_before(row: int, other: int, submit_us: Ints, number: Ints) -> bool:
    if submit_us[row] != submit_us[other]:
        return bool(submit_us[row] < submit_us[other])
    return bool(number[row] < number[other])
