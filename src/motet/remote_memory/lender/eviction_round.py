"""One batch eviction of a lender: ask E + E' owners for activity, evict the E least active."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from motet.remote_memory.core.batch_eviction import least_active, slabs_to_ask
from motet.remote_memory.core.lent_slabs import LentSlab
from motet.remote_memory.lender.memory_client import MemoryClient
from motet.remote_memory.lender.slab_pool import SlabPool
from motet.remote_memory.wire.memory_messages import (
    CheckActivity,
    EvictSlabs,
    ReportActivity,
    SlabKey,
)

ACTIVITY_WITHIN_US = 500_000
FindClient = Callable[[str], MemoryClient | None]


class EvictionRound:
    """From CHECK_ACTIVITY to EVICT. Thread-safe."""

    def __init__(
        self,
        pool: SlabPool,
        find_client: FindClient,
        done_within_us: int,
        rng: np.random.Generator,
    ) -> None:
        """`done_within_us`: for DONE after EVICT."""
        self._pool, self._find_client, self._rng = pool, find_client, rng
        self._done_within_us = done_within_us
        self._lock = threading.Lock()
        self._asked: Mapping[SlabKey, LentSlab] = {}
        self._rates: dict[SlabKey, float] = {}
        self._evict = 0
        self._deadline_us = 0

    @property
    def is_open(self) -> bool:
        """Whether a round is in progress."""
        return bool(self._asked)

    def begin(self, evict: int, extra: int, now_us: int) -> None:
        """Start a round for `evict` slabs unless one is in progress."""
        with self._lock:
            if self._asked or evict <= 0:
                return
            asked = slabs_to_ask(self._pool.mapped(), evict, extra, self._rng)
            self._asked = {_key(slab): slab for slab in asked}
            self._rates = {}
            self._evict = evict
            self._deadline_us = now_us + ACTIVITY_WITHIN_US
            questions = _by_client(asked)
        for name, keys in questions.items():
            client = self._find_client(name)
            if client is not None:
                client.post(CheckActivity(tuple(keys)))

    def answer(self, report: ReportActivity, now_us: int) -> None:
        """ACTIVITY of one device."""
        with self._lock:
            self._rates |= {key: rate for key, rate in report.rates if key in self._asked}
        self.advance(now_us)

    def advance(self, now_us: int) -> None:
        """Send EVICT once all have answered, or at the deadline."""
        with self._lock:
            if not self._asked:
                return
            if len(self._rates) < len(self._asked) and now_us < self._deadline_us:
                return
            victims = least_active(list(self._asked), self._rates, self._evict)
            self._asked = {}
        begun = self._pool.begin_eviction(victims, now_us + self._done_within_us)
        for name, keys in _by_client(begun).items():
            client = self._find_client(name)
            if client is not None:
                client.post(EvictSlabs(tuple(keys)))


def _key(slab: LentSlab) -> SlabKey:
    return SlabKey(slab.token, slab.generation)


def _by_client(slabs: Iterable[LentSlab]) -> Mapping[str, Sequence[SlabKey]]:
    found: dict[str, list[SlabKey]] = defaultdict(list)
    for slab in slabs:
        found[slab.client].append(_key(slab))
    return found
