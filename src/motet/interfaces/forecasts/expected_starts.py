"""When waiting jobs will start: ranges from possible futures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from motet.interfaces.forecasts.futures import Extreme, PossibleFutures

FUTURES, FEWEST_FUTURES = 39, 19
"""A range is that of all simulated starts: a further one would lie in it with probability 38 / 40
(18 / 20). Of real starts it should hold nine tenths; the rest is for what the simulation does not
foresee, above all later submissions."""
COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """Unix time in microseconds. None: unknown; `because`: why."""

    low_us: int | None
    median_us: int | None
    high_us: int | None
    because: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is a range."""
        return self.high_us is not None


class TimeIsUp(Exception):
    """Simulating took too long."""


def within(budget_s: float, clock_s: Callable[[], float] = time.monotonic) -> Callable[[], None]:
    """A function that raises TimeIsUp once the time has passed."""
    ends_s = clock_s() + budget_s

    def check() -> None:
        if clock_s() > ends_s:
            raise TimeIsUp

    return check


def expected_starts(
    futures: PossibleFutures, wanted: frozenset[int], check_time: Callable[[], None]
) -> dict[int, ExpectedStart]:
    """Of waiting jobs. With jobs of whose run time nothing is known, a range begins with the starts
    as if these ended at once, and ends with those as if they never did.

    `check_time`: raises TimeIsUp; what is known by then counts.
    """
    extremes: tuple[Extreme, ...] = ("at once", "never") if futures.unknown else ("never",)
    drawn: dict[Extreme, list[dict[int, int]]] = {each: [] for each in extremes}
    different = 1 if futures.are_equal else FUTURES
    try:
        for number in range(different if wanted else 0):
            for extreme in extremes:
                starts = _starts(futures, number, wanted, extreme, check_time)
                drawn[extreme] += [starts] * (FUTURES // different)
    except TimeIsUp:
        if len(drawn[extremes[-1]]) < FEWEST_FUTURES:
            return dict.fromkeys(wanted, _unknown("there is too much to simulate"))
    count = FUTURES if len(drawn["never"]) == FUTURES else FEWEST_FUTURES
    return {
        job: _range(
            [starts.get(job) for starts in drawn[extremes[0]][:count]],
            [starts.get(job) for starts in drawn["never"][:count]],
            [each for each in futures.unknown if each != job],
        )
        for job in wanted
    }


def _starts(
    futures: PossibleFutures,
    number: int,
    wanted: frozenset[int],
    unknown: Extreme,
    check_time: Callable[[], None],
) -> dict[int, int]:
    found: dict[int, int] = {}
    for future in futures.drawn(number, unknown):
        found = {job: at_us for job, at_us in future.starts_us.items() if job in wanted}
        check_time()
        if len(found) == len(wanted):
            break
    return found


def _range(
    earliest: Sequence[int | None], latest: Sequence[int | None], unknown: Sequence[int]
) -> ExpectedStart:
    lows, highs = _ascending(earliest), _ascending(latest)
    if len(highs) < len(latest):
        return _unknown(_told(unknown) if unknown else "nothing frees enough slots")
    return ExpectedStart(lows[0], round(median(highs)), highs[-1])


def _ascending(starts: Iterable[int | None]) -> list[int]:
    return sorted(each for each in starts if each is not None)


def _unknown(because: str) -> ExpectedStart:
    return ExpectedStart(None, None, None, because)


def _told(unknown: Sequence[int]) -> str:
    """Why: jobs without a known run time."""
    named = ", ".join(f"job {number}" for number in unknown[:3])
    more = f" and {len(unknown) - 3} others" if len(unknown) > 3 else ""
    return f"nothing is known of how long {named}{more} will run"
