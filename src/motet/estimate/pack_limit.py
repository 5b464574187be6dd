"""PACKLIMIT: the largest skew of a model that can be spread without harm.

Tiresias (Gu et al., NSDI 2019, section 3.3; the thesis, section 3.3.3.3) refits it from the job
history with a linear classifier. On one feature, the skew, a linear classifier is a threshold:
here the threshold with the fewest misclassified spread jobs, computed exactly.
"""

from __future__ import annotations

from bisect import insort
from itertools import pairwise


class PackLimit:
    """A threshold that is refitted whenever a sample could change it."""

    def __init__(self, prior: float) -> None:
        """`prior`: the limit until samples of both classes exist."""
        self._prior = prior
        self._skews: list[float] = []
        self._seen: dict[float, list[int]] = {}
        self._is_stale = False
        self._limit = prior

    def add(self, skew: float, is_hurt: bool) -> None:
        """Add a spread job with this skew; `is_hurt`: whether spreading slowed it."""
        if skew not in self._seen:
            insort(self._skews, skew)
            self._seen[skew] = [0, 0]
        self._seen[skew][is_hurt] += 1
        self._is_stale = True

    @property
    def limit(self) -> float:
        """The skew above which jobs should be consolidated, 0 to 1.

        Halfway between two observed skews, or 0 (consolidate all) or 1 (spread all) if that
        misclassifies fewer. Of several best limits the one with the widest gap around it, then the
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
