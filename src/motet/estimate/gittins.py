"""The Gittins index of a job, from the total service of finished jobs.

Tiresias (Gu et al., NSDI 2019, section 3.2.2), from Gittins (1979): with S the total service of a
job and a its attained service,

    G(a) = sup over D > 0 of  P(S - a <= D | S > a) / E[min(S - a, D) | S > a].

A higher index means more finished jobs per unit of service. `discretised_index` uses one D.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from motet.domain.arrays import Floats


class ServiceDistribution:
    """Samples of total service, in any unit that `attained` and `quantum` share."""

    def __init__(self, samples: ArrayLike) -> None:
        """`samples: (n,)`, each positive."""
        self._sorted: Floats = np.sort(np.asarray(samples, dtype=np.float64))
        self._sums: Floats = np.concatenate([[0.0], np.cumsum(self._sorted)])

    @classmethod
    def from_sorted(cls, samples: Floats) -> Self:
        """A distribution of samples that are sorted in ascending order."""
        made = cls(())
        made._sorted = samples
        made._sums = np.concatenate([[0.0], np.cumsum(made._sorted)])
        return made

    def __len__(self) -> int:
        return len(self._sorted)

    def discretised_index(self, attained: ArrayLike, quantum: float) -> Floats:
        """The ratio for D = `quantum`; 0 where no sample exceeds `attained`."""
        a = np.asarray(attained, dtype=np.float64)
        first = np.searchsorted(self._sorted, a, side="right")
        last = np.searchsorted(self._sorted, a + quantum, side="right")
        finishing, beyond = last - first, len(self._sorted) - last
        service = self._sums[last] - self._sums[first] - finishing * a
        if np.isfinite(quantum):
            service = service + beyond * quantum
        index: Floats = np.divide(finishing, service, out=np.zeros_like(a), where=finishing > 0)
        return index

    def index(self, attained: ArrayLike) -> Floats:
        """The supremum over D, `(jobs,)`; reached where S - a equals one of its values."""
        a, of_job = np.unique(np.asarray(attained, dtype=np.float64), return_inverse=True)
        found: Floats = _suprema(self._sorted, a)[of_job]
        return found


@njit(cache=True)
def _suprema(samples: Floats, attained: Floats) -> Floats:
    """The suprema for ascending samples; 0 where no sample is larger."""
    found = np.zeros(len(attained))
    for job in range(len(attained)):
        first = np.searchsorted(samples, attained[job], side="right")
        total = 0.0
        for sample in range(first, len(samples)):
            later, finishing = samples[sample] - attained[job], sample - first + 1
            total += later
            beyond = len(samples) - sample - 1
            found[job] = max(found[job], finishing / (total + beyond * later))
    return found
