"""When running and waiting jobs will end: ranges from the futures that predict the starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US
from motet.interfaces.forecasts.expected_starts import SimulatedFutures
from motet.interfaces.forecasts.futures import Extreme, PossibleFutures


@dataclass(frozen=True, slots=True)
class ExpectedEnd:
    """Unix time in microseconds. None: later than what was simulated."""

    low_us: int
    median_us: int | None
    high_us: int | None


def expected_ends(futures: PossibleFutures, simulated: SimulatedFutures) -> dict[int, ExpectedEnd]:
    """Of jobs that ended in some future; those of whose run time nothing is known are left out.

    As of starts, a range begins as if jobs of unknown run time ended at once, and ends as if they
    never did.
    """
    if not simulated.count:
        return {}
    first, last = (
        _sorted(simulated, place) for place in (simulated.extremes[0], simulated.extremes[-1])
    )
    low_us, median_us, high_us = first[0], last[(len(last) - 1) // 2], last[-1]
    return {
        job: ExpectedEnd(int(low_us[at]), _known(median_us[at]), _known(high_us[at]))
        for at, job in enumerate(futures.jobs)
        if low_us[at] < NEVER_US and futures.is_known(job)
    }


def _sorted(simulated: SimulatedFutures, extreme: Extreme) -> Ints:
    """Ends in ascending order, `(futures, jobs)`, as far as all futures are known."""
    ends_us = np.stack(simulated.ends_us[extreme][: simulated.count])
    is_open = (ends_us == UNKNOWN) | (ends_us > simulated.until_us)
    return np.sort(np.where(is_open, NEVER_US, ends_us), axis=0)


def _known(at_us: int) -> int | None:
    return None if at_us >= NEVER_US else int(at_us)
