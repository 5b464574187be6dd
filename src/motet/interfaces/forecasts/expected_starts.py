"""When waiting jobs will start: ranges from possible futures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

from motet.domain.arrays import Ints
from motet.domain.units import NEVER_US, seconds
from motet.interfaces.forecasts.draws.future import (
    HOUR_US,
    WORK_OF_DECISION,
    Check,
    CutFuture,
    Future,
    TooMuch,
)
from motet.interfaces.forecasts.futures import Extreme, PossibleFutures

FUTURES, FEWEST_FUTURES = 39, 19
"""A range is that of all simulated starts: a further one would lie in it with probability 38 / 40
(18 / 20), because each place among them is equally probable. Where users declared how long their
jobs run, real starts are in the ranges of the fewest as often as simulated ones, nine of ten. Other
run times are known less well, by a few jobs with long tails: of real starts nine tenths are in the
ranges of 39 futures."""
COVERAGE = 0.9
WORK_OF_ENDS = 125 * WORK_OF_DECISION
"""After so much work, or an hour, nothing is simulated for the sake of ends alone."""
Choose: TypeAlias = Callable[[Mapping[int, int]], int | None]
"""The start of interest, by the starts of one future."""
_TOO_MUCH = "there is too much to simulate"


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """Unix time in microseconds. None: unknown; `because`: why. `later_than_us`: it is later in
    what was simulated, where that is too little for a range."""

    low_us: int | None
    median_us: int | None
    high_us: int | None
    because: str = ""
    later_than_us: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether there is a range."""
        return self.high_us is not None


def within(budget_s: float) -> Check:
    """Until this process has used so much time of the processor."""
    ends_s = time.process_time() + budget_s

    def check(work: int) -> None:
        del work
        if time.process_time() > ends_s:
            raise TooMuch

    return check


@dataclass(frozen=True, eq=False)
class SimulatedFutures:
    """What happened in futures until the wanted jobs had started, with the jobs of unknown run time
    as in each extreme. `starts`: by job; `ends_us`: by place, UNKNOWN for those without an end.
    `until_us`: how far all futures are known. `cut`: the next future in the first extreme, if it
    was begun. `fewest`: that make a range."""

    extremes: tuple[Extreme, ...]
    starts: Mapping[Extreme, Sequence[Mapping[int, int]]]
    ends_us: Mapping[Extreme, Sequence[Ints]]
    until_us: int
    cut: CutFuture | None = None
    fewest: int = FEWEST_FUTURES

    @property
    def count(self) -> int:
        """How many futures count; 0: there was too much to simulate."""
        simulated = len(self.starts[self.extremes[-1]])
        usual = next((each for each in (FUTURES, FEWEST_FUTURES) if simulated >= each), 0)
        return usual or (simulated if simulated >= self.fewest else 0)

    def least_us(self, choose: Choose) -> int | None:
        """No chosen job starts before this in what was simulated of the first extreme. None: there
        is no future in which it starts."""
        complete = self.starts[self.extremes[0]]
        found = [*map(choose, [*complete, self.cut.starts_us] if self.cut else complete)]
        if self.cut is not None and found == [None]:
            return self.cut.reached_us
        return min((each for each in found if each is not None), default=None)

    def is_cut_after(self, at_us: int, choose: Choose) -> bool:
        """Whether the chosen job has not started by then in the future that was cut."""
        cut = self.cut
        return cut is not None and choose(cut.starts_us) is None and cut.reached_us > at_us


def simulated_futures(
    futures: PossibleFutures,
    wanted: frozenset[int],
    check: Check,
    fewest: int = FEWEST_FUTURES,
    complete: Callable[[int], None] | None = None,
) -> SimulatedFutures:
    """`check`: raises TooMuch; what is known by then counts. `fewest`: that make a range.
    `complete`: called with their number, after each."""
    extremes: tuple[Extreme, ...] = ("at once", "never") if futures.unknown else ("never",)
    starts: dict[Extreme, list[dict[int, int]]] = {each: [] for each in extremes}
    ends_us: dict[Extreme, list[Ints]] = {each: [] for each in extremes}
    wanted_count = FEWEST_FUTURES if futures.are_declared else FUTURES
    different = 1 if futures.are_equal else wanted_count
    possible, until_us = wanted - futures.never_start.keys(), NEVER_US
    extreme, cut = extremes[0], None
    try:
        for number in range(different if futures.jobs and not futures.obstacle else 0):
            for extreme in extremes:
                last = _simulated(futures, number, possible, extreme, check)
                found = {job: at_us for job, at_us in last.starts_us.items() if job in wanted}
                starts[extreme] += [found] * (wanted_count // different)
                ends_us[extreme] += [last.ends_us] * (wanted_count // different)
                until_us = min(until_us, last.until_us)
            if complete is not None:
                complete(number + 1)
    except TooMuch as error:
        if extreme == extremes[0] and error.cut is not None:
            begun = {job: at_us for job, at_us in error.cut.starts_us.items() if job in wanted}
            cut = CutFuture(begun, error.cut.reached_us)
    return SimulatedFutures(extremes, starts, ends_us, until_us, cut, fewest)


def expected_starts(
    futures: PossibleFutures, wanted: frozenset[int], check: Check
) -> dict[int, ExpectedStart]:
    """Of waiting jobs, as far as they are known when `check` raises TooMuch."""
    return starts_in(futures, wanted, simulated_futures(futures, wanted, check))


def starts_in(
    futures: PossibleFutures, wanted: frozenset[int], simulated: SimulatedFutures
) -> dict[int, ExpectedStart]:
    """Of waiting jobs. With jobs of whose run time nothing is known, a range begins with the starts
    as if these ended at once, and ends with those as if they never did."""
    never = {} if futures.obstacle else futures.never_start
    found = {job: _unknown(never[job]) for job in wanted & never.keys()}
    count, possible = simulated.count, wanted - found.keys()
    if not count:
        return found | dict.fromkeys(possible, _unknown(futures.obstacle or _TOO_MUCH))
    first, last = (simulated.starts[each][:count] for each in _outer(simulated.extremes))
    return found | {
        job: _range(
            [starts.get(job) for starts in first],
            [starts.get(job) for starts in last],
            _told(futures, [each for each in futures.unknown if each != job]),
        )
        for job in possible
    }


def start_in_group(
    futures: PossibleFutures,
    group: frozenset[int],
    simulated: SimulatedFutures,
    choose: Choose,
) -> ExpectedStart:
    """Of one of the wanted jobs that nobody has submitted yet. `group`: all of these; `choose`:
    its start, by the starts of a future."""
    count, never = simulated.count, [*map(futures.never_start.get, group)]
    if not futures.obstacle and never[0] is not None:
        return _unknown(never[0])  # All jobs of an array have the same size.
    if not count:
        least_us = None if futures.obstacle else simulated.least_us(choose)
        return ExpectedStart(None, None, None, futures.obstacle or _TOO_MUCH, least_us)
    first, last = (simulated.starts[each][:count] for each in _outer(simulated.extremes))
    others = [each for each in futures.unknown if each not in group]
    because = "nothing is known of how long its jobs will run; give duration_s"
    is_own = not others and len(group) > 1 and bool(futures.unknown)
    found = _range(
        [*map(choose, first)], [*map(choose, last)], because if is_own else _told(futures, others)
    )
    # Long futures are cut rather than others: without them a range would be too early.
    is_partial = count < FEWEST_FUTURES and found.high_us is not None
    if is_partial and simulated.is_cut_after(found.high_us or 0, choose):
        return ExpectedStart(None, None, None, _TOO_MUCH, simulated.least_us(choose))
    return found


def _outer(extremes: Sequence[Extreme]) -> tuple[Extreme, Extreme]:
    return extremes[0], extremes[-1]


def _simulated(
    futures: PossibleFutures,
    number: int,
    wanted: frozenset[int],
    unknown: Extreme,
    check: Check,
) -> Future:
    """Until the wanted jobs have started, and as far as is worth it for ends."""
    for future in futures.drawn(number, unknown, check):
        is_enough = future.until_us - futures.now_us >= HOUR_US or future.work >= WORK_OF_ENDS
        if is_enough and future.starts_us.keys() >= wanted:
            break
    return future


def _range(
    earliest: Sequence[int | None], latest: Sequence[int | None], because: str
) -> ExpectedStart:
    """`because`: why, if it does not start in every future."""
    lows, highs = _ascending(earliest), _ascending(latest)
    if len(highs) < len(latest):
        return _unknown(because)
    return ExpectedStart(lows[0], round(median(highs)), highs[-1])


def _ascending(starts: Iterable[int | None]) -> list[int]:
    return sorted(each for each in starts if each is not None)


def start_document(start: ExpectedStart, now_us: int) -> dict[str, Any]:
    """Seconds from now; null where unknown, with the reason."""
    values = {"low": start.low_us, "median": start.median_us, "high": start.high_us}
    in_s = {f"{name}_s": from_now_s(at_us, now_us) for name, at_us in values.items()}
    return {**in_s, "unknown_because": start.because}


def from_now_s(at_us: int | None, now_us: int) -> float | None:
    """0 if it lies in the past."""
    return None if at_us is None else max(seconds(at_us - now_us), 0.0)


def _unknown(because: str) -> ExpectedStart:
    return ExpectedStart(None, None, None, because)


def _told(futures: PossibleFutures, unknown: Sequence[int]) -> str:
    """Why a job does not start: jobs without a known run time, if there are any."""
    if not unknown:
        return futures.closed or "nothing frees enough slots"
    named = ", ".join(f"job {number}" for number in unknown[:3])
    left = len(unknown) - 3
    more = f" and {left} other{'' if left == 1 else 's'}" if left > 0 else ""
    return f"nothing is known of how long {named}{more} will run"
