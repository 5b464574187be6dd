"""Lender processes that can be killed, and made to evict a slab at any time."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from typing import Self

import psutil

from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.transport import Endpoint, use_short_switch_interval

_MACHINE = 1 << 40
_AVERAGE = 60
"""Measurements until the average is what is measured."""
_WAIT_S = 5.0


class _Machine:
    """Its memory, of which others can take so much that one slab less is left."""

    def __init__(self, limits: PoolLimits) -> None:
        self._limits = limits
        self.used_bytes = 0
        self.lender: Lender | None = None

    def free_bytes(self) -> int:
        held_bytes = 0 if self.lender is None else self.lender.held_bytes
        return _MACHINE - self.used_bytes - held_bytes

    def evict(self) -> float:
        """Seconds from the decision until the slab is free; 0: none was mapped."""
        assert self.lender is not None
        before = self.lender.view()
        if not before.mapped_slabs:
            return 0.0
        self._use(_MACHINE - (before.mapped_slabs - 1) * self._limits.slab_bytes)
        began_s = time.perf_counter()
        while self.lender.view().evicted == before.evicted:
            if time.perf_counter() - began_s > _WAIT_S:
                return 0.0
            time.sleep(2e-4)
        took_s = time.perf_counter() - began_s
        self._use(0)
        return took_s

    def _use(self, used_bytes: int) -> None:
        assert self.lender is not None
        self.used_bytes = used_bytes
        for _ in range(_AVERAGE):
            self.lender.adjust()


def _serve(secret: bytes, limits: PoolLimits, pipe: Pipe) -> None:
    use_short_switch_interval()
    machine = _Machine(limits)
    with Lender(LenderSettings(limits), secret, machine.free_bytes) as lender:
        machine.lender = lender
        pipe.send(lender.endpoint)
        while pipe.recv() is not None:
            pipe.send(machine.evict())


@dataclass(frozen=True)
class EvictingLender:
    """A process that lends."""

    endpoint: Endpoint
    process: BaseProcess
    _pipe: Pipe

    def evict(self) -> float:
        """Seconds that the eviction of a slab takes; 0: there was none."""
        self._pipe.send("evict")
        return float(self._pipe.recv())

    def cpu_s(self) -> float:
        """CPU time until now."""
        return sum(psutil.Process(self.process.pid).cpu_times()[:2])

    def kill(self) -> None:
        """As a failure of its machine."""
        self.process.kill()
        self.process.join()

    def end(self) -> None:
        """Unless it was killed."""
        if self.process.is_alive():
            self._pipe.send(None)
        self.process.join()


class EvictingLenders:
    """So many lenders with so many slabs each; a context manager. `all`: those that live, once
    `replace_dead` was called."""

    def __init__(self, count: int, secret: bytes, slab_bytes: int, slabs: int) -> None:
        self._secret = secret
        self._limits = PoolLimits(_MACHINE, 0, slab_bytes, slabs)
        self.all = [self._started() for _ in range(count)]

    def replace_dead(self) -> None:
        """Start others in the place of those that were killed."""
        self.all = [each if each.process.is_alive() else self._started() for each in self.all]

    def _started(self) -> EvictingLender:
        context = multiprocessing.get_context("spawn")
        ours, theirs = multiprocessing.Pipe()
        arguments = (self._secret, self._limits, theirs)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        process.start()
        return EvictingLender(ours.recv(), process, ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for lender in self.all:
            lender.end()
