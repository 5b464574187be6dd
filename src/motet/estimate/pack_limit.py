"""PACKLIMIT: how much skew a model may have and still be spread without harm.

Tiresias (Gu et al., NSDI 2019, section 3.3; the thesis, section 3.3.3.3) refits it from the job
history with a linear classifier. On one feature, the skew, a linear classifier is a threshold: here
the one that puts the fewest jobs that were seen spread on the wrong side, found exactly.
"""

from __future__ import annotations

from bisect import insort
from itertools import pairwise


class PackLimit:
    """A threshold that is refitted whenever a sample could change it."""

    def __init__(self, prior: float) -> None:
        """`prior`: the limit until jobs of both kinds were seen."""
        self._prior = prior
        self._skews: list[float] = []
        self._seen: dict[float, list[int]] = {}
        self._is_stale = False
        self._limit = prior

    def add(self, skew: float, is_hurt: bool) -> None:
        """A job with that skew ran spread, and was slower for it or not."""
        if skew not in self._seen:
            insort(self._skews, skew)
            self._seen[skew] = [0, 0]
        self._seen[skew][is_hurt] += 1
        self._is_stale = True

    @property
    def limit(self) -> float:
        """Jobs with more skew than this are better consolidated, 0 to 1.

        Halfway between two skews that were seen, or 0 (consolidate all) or 1 (spread all) if that
        is wrong less often. Of several best limits the one with the widest gap about it, then the
        lowest.
        """
        if self._is_stale:
            self._limit, self._is_stale = self._fitted(), False
        return self._limit

    def _fitted(self) -> float:
        unhurt, hurt = (sum(counts[kind] for counts in self._seen.values()) for kind in (0, 1))
        if not (unhurt and hurt):
            return self._prior
        wrong, edges = unhurt, [0.0, *self._skews, 1.0]
        best = (wrong, -edges[1], 0.0)
        for below, above in pairwise(edges[1:]):
            stays, suffers = self._seen[below]
            wrong += suffers - stays
            is_last = below == self._skews[-1]
            middle = 1.0 if is_last else (below + above) / 2
            best = min(best, (wrong, below - above, middle))
        return best[2]
