"""Many values in few bytes of JSON: what follows a rule is told by the rule. Exact.

Numbers are told by steps: the first one, then the distance to each next one; a distance that occurs
COUNTED times or more in a row is `[distance, times]`. So 1, 2, ... 1000 is `[[1,1000]]`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, groupby
from typing import Any

COUNTED = 3
_WORTH = 3
"""A rule is told if it is so many times shorter than the values."""


def steps_of(numbers: Sequence[int]) -> list[int | list[int]]:
    """Numbers by their steps."""
    found: list[int | list[int]] = []
    gaps = (later - sooner for sooner, later in zip((0, *numbers), numbers, strict=False))
    for gap, each in groupby(gaps):
        times = sum(1 for _ in each)
        found += [[gap, times]] if times >= COUNTED else [gap] * times
    return found


def numbers_of(steps: Iterable[int | list[int]]) -> list[int]:
    """The numbers with these steps."""
    gaps: list[int] = []
    for each in steps:
        gaps += [each] if isinstance(each, int) else [each[0]] * each[1]
    return [*accumulate(gaps)]


def column_of(values: Sequence[Any]) -> dict[str, Any]:
    """Values of one kind, which are hashable: `steps` of numbers, or the places of each value `at`
    which it stands (by steps), or `each` value."""
    if all(type(value) is int for value in values):
        steps = steps_of(values)
        if len(steps) * _WORTH <= len(values):
            return {"steps": steps}
    places: dict[Hashable, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(_key(value), []).append(place)
    if len(places) * _WORTH <= len(values):
        at = [[values[each[0]], steps_of(each)] for each in places.values()]
        if sum(len(steps) for _, steps in at) * _WORTH <= len(values):
            return {"at": at}
    return {"each": [*values]}


def are_one_value(values: Sequence[Any]) -> bool:
    """Whether all of these are one value."""
    return len(set(map(_key, values))) == 1


def values_of(column: dict[str, Any]) -> list[Any]:
    """The values of a column. Raises KeyError, TypeError for something else."""
    if "steps" in column:
        return numbers_of(column["steps"])
    if "each" in column:
        return list(column["each"])
    found = {place: value for value, steps in column["at"] for place in numbers_of(steps)}
    return [found[place] for place in range(len(found))]


def _key(value: Any) -> Hashable:
    """0.0 and -0.0 are equal, but not the same; no value is a NaN."""
    return value.hex() if isinstance(value, float) else (type(value), value)
