"""Durations as logs write them: `1-02:03:04`, `P1DT2H`, `1d2h`, `45 min`, `93784.5`."""

from __future__ import annotations

import re
from decimal import Decimal

from motet.domain.units import SECOND_US
from motet.sim.traces.cells import rounded_us, seconds_us

_WHOLE, _FRACTION = r"\d{1,9}", r"\d{1,9}(?:\.\d{0,9})?"
_CLOCK = re.compile(
    rf"(?:(?P<days>{_WHOLE})(?:-| days?,? ))?(?:(?P<hours>{_WHOLE}):)?"
    rf"(?P<minutes>\d{{1,2}}):(?P<seconds>\d\d(?:\.\d{{0,9}})?)"
)
_WORDS = {
    "weeks": "w(?:eeks?)?",
    "days": "d(?:ays?)?",
    "hours": "h(?:rs?|ours?)?",
    "minutes": "m(?:ins?|inutes?)?",
    "seconds": "s(?:ecs?|econds?)?",
}
_UNITS = re.compile(
    "".join(rf"(?:(?P<{unit}>{_FRACTION}) ?{word},? ?)?" for unit, word in _WORDS.items()),
    re.IGNORECASE,
)
_ISO = re.compile(
    rf"P(?:(?P<weeks>{_FRACTION})W)?(?:(?P<days>{_FRACTION})D)?"
    rf"(?:T(?:(?P<hours>{_FRACTION})H)?(?:(?P<minutes>{_FRACTION})M)?"
    rf"(?:(?P<seconds>{_FRACTION})S)?)?",
    re.IGNORECASE,
)
_UNIT_S = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
_SIXTY = 60
_WRONG = "which is not a duration like 5400, 1:30:00, 1-02:03:04, 1h30m or PT1H30M"


def duration_us(cell: str) -> int:
    """A duration in microseconds. A number alone is in seconds.

    The forms are `[[D-]HH:]MM:SS` of Slurm and other batch systems, hours of any number without
    days, `D days, HH:MM:SS` of Python and pandas, `1d2h3m4s` of Kubernetes, the same with blanks
    and words (`1 day, 2 hours`, `45 min`), and ISO 8601 without years and months. Raises ValueError
    with the reason for other cells.
    """
    text = cell.strip()
    if ":" in text:
        return _from_clock(text)
    if text[-1:].isalpha():
        return _from_units(text)
    return seconds_us(text)


def _from_clock(text: str) -> int:
    found = _CLOCK.fullmatch(text)
    if found is None or (found["days"] and not found["hours"]):
        raise ValueError(_WRONG)
    hours_limit = 24 if found["days"] else None
    for name, limit in (("hours", hours_limit), ("minutes", _SIXTY), ("seconds", _SIXTY)):
        if limit and found[name] and Decimal(found[name]) >= limit:
            raise ValueError(f"which has {found[name]} {name}")
    return _total_us(found)


def _from_units(text: str) -> int:
    found = _ISO.fullmatch(text) or _UNITS.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(_WRONG)
    return _total_us(found)


def _total_us(found: re.Match[str]) -> int:
    parts = found.groupdict(default="0")
    seconds = (Decimal(number) * _UNIT_S[unit] for unit, number in parts.items())
    return rounded_us(sum(seconds, Decimal()) * SECOND_US)
