"""memcached with the mixes ETC and SYS (Atikoglu et al., SIGMETRICS 2012; Infiniswap, 2.7.3.2)."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motet.domain.arrays import Array

_FILL_ITEMS = 500
_ZIPF = 0.99
_DRAWS = 1 << 16
_VALUE = memoryview(bytes(range(256)) * 40)


@dataclass(frozen=True)
class Mix:
    """`sets`: share of SET. `values`: share, least and most bytes. `keys`: the same."""

    name: str
    sets: float
    values: tuple[tuple[float, int, int], ...]
    keys: tuple[tuple[float, int, int], ...]

    def bytes_per_item(self) -> float:
        """On average, with what memcached adds."""
        ranges = (*self.values, *self.keys)
        return 56 + sum(share * (least + most) / 2 for share, least, most in ranges)


ETC = Mix("ETC", 0.05, ((0.9, 16, 512), (0.1, 512, 2048)), ((1.0, 16, 16),))
SYS = Mix(
    "SYS",
    0.25,
    ((0.8, 320, 500), (0.08, 16, 320), (0.12, 500, 10_000)),
    ((0.4, 16, 20), (0.6, 20, 45)),
)


@dataclass(frozen=True)
class Measured:
    """Requests per second, and latencies in microseconds."""

    ops_s: float
    median_us: float
    p99_us: float


class MemcachedLoad:
    """Clients of one server over its Unix socket. Popular keys are drawn by Zipf's law (0.99)."""

    def __init__(self, path: Path, mix: Mix, items: int, clients: int = 4) -> None:
        self._path, self._mix, self._items, self._clients = path, mix, items, clients
        rng = np.random.default_rng(1)
        self._sizes = _drawn(rng, mix.values, items).tolist()
        lengths = _drawn(rng, mix.keys, items).tolist()
        self._keys = [b"%0*d" % (length, key) for key, length in enumerate(lengths)]
        weights = np.cumsum(np.arange(1, items + 1) ** -_ZIPF)
        self._popularity = weights / weights[-1]
        self._order = rng.permutation(items)

    def fill(self, pause_s: float = 0.0) -> None:
        """Set all keys. `pause_s`: after each 500 of them."""
        with self._connected() as sock, sock.makefile("rb") as replies:
            for start in range(0, self._items, _FILL_ITEMS):
                time.sleep(pause_s)
                keys = range(start, min(start + _FILL_ITEMS, self._items))
                sock.sendall(b"".join(map(self._set, keys)))
                for _ in keys:
                    replies.readline()

    def pause_s(self, seconds: float) -> float:
        """For `fill` to take about so long."""
        return seconds * _FILL_ITEMS / self._items

    def run(self, seconds: float) -> Measured:
        """Requests from all clients at a time, each one at a time."""
        found: list[list[float]] = [[] for _ in range(self._clients)]
        threads = [
            threading.Thread(target=self._client, args=(number, seconds, times))
            for number, times in enumerate(found)
        ]
        began_s = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took_s = time.perf_counter() - began_s
        times = np.concatenate([np.asarray(each) for each in found])
        median_us, p99_us = 1e6 * np.percentile(times, (50, 99))
        return Measured(len(times) / took_s, float(median_us), float(p99_us))

    def _client(self, number: int, seconds: float, times: list[float]) -> None:
        rng = np.random.default_rng([time.monotonic_ns(), number])
        keys = self._order[np.searchsorted(self._popularity, rng.random(_DRAWS))].tolist()
        is_set = (rng.random(_DRAWS) < self._mix.sets).tolist()
        ends_s = time.perf_counter() + seconds
        with self._connected() as sock, sock.makefile("rb", buffering=1 << 16) as replies:
            while True:
                for key, sets in zip(keys, is_set, strict=True):
                    request = self._set(key) if sets else b"get %b\r\n" % self._keys[key]
                    began_s = time.perf_counter()
                    sock.sendall(request)
                    line = replies.readline()
                    if line.startswith(b"VALUE"):
                        replies.read(int(line.rsplit(b" ", 1)[1]) + 2)
                        replies.readline()
                    now_s = time.perf_counter()
                    times.append(now_s - began_s)
                    if now_s > ends_s:
                        return

    def _set(self, key: int) -> bytes:
        size = self._sizes[key]
        return b"set %b 0 0 %d\r\n%b\r\n" % (self._keys[key], size, _VALUE[:size])

    def _connected(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self._path))
        return sock


def _drawn(
    rng: np.random.Generator, ranges: tuple[tuple[float, int, int], ...], count: int
) -> Array:
    shares, least, most = map(np.array, zip(*ranges, strict=True))
    kinds = rng.choice(len(shares), count, p=shares)
    return rng.integers(least[kinds], most[kinds], endpoint=True)
