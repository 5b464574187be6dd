"""A cluster of lenders and devices, second by second.

Every machine lends, and has a device that borrows from all others. Placement, head room and
eviction are the code of `remote_memory.core`. Messages take no time: within a second a lender
adjusts its pool, then devices find lenders for hot slabs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import count

import numpy as np

from motet.domain.arrays import Ints
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.core.head_room import HEAD_ROOM_SHARE, PoolLimits
from motet.remote_memory.core.lender_choice import find_lender
from motet.remote_memory.core.slab_activity import HOT_SLAB
from motet.sim.remote_memory.containers import GIB, MachineLoad
from motet.sim.remote_memory.machines import SimulatedDevice, SimulatedLender
from motet.sim.remote_memory.paging import PagingRates
from motet.sim.remote_memory.strategies import Strategy

_PAGING_SEED, _CHOICE_SEED = 1, 2


@dataclass(frozen=True)
class LendingRules:
    """`head_room_bytes`: that stays free on each machine; None: an eighth of it."""

    slab_bytes: int = GIB
    head_room_bytes: int | None = None

    def limits(self, memory_bytes: int) -> PoolLimits:
        """Of each lender."""
        room = self.head_room_bytes
        return PoolLimits(
            memory_bytes,
            round(HEAD_ROOM_SHARE * memory_bytes) if room is None else room,
            self.slab_bytes,
            memory_bytes // self.slab_bytes,
        )


@dataclass(eq=False)
class LendingHistory:
    """`lent_slabs`: by lender, and `remote_slabs`: used and mapped ones of a device, `(steps,
    machines)`. `evicted_rates`: pages per second of evicted slabs at their eviction. `refused`:
    slabs for which none of the lenders that were asked had room, once a second."""

    strategy: Strategy
    load: MachineLoad
    rules: LendingRules
    lent_slabs: Ints
    used_slabs: Ints
    remote_slabs: Ints
    evicted_rates: list[float] = field(default_factory=list)
    placed: int = 0
    refused: int = 0

    @property
    def used_bytes(self) -> Ints:
        """Own memory and lent slabs, `(steps, machines)`."""
        used: Ints = self.load.own_bytes + self.lent_slabs * self.rules.slab_bytes
        return used

    @property
    def busy_evictions(self) -> int:
        """Evictions of slabs that would be mapped again at once."""
        return sum(rate > HOT_SLAB for rate in self.evicted_rates)


def replayed_lending(
    load: MachineLoad, rules: LendingRules, strategy: Strategy, seed: int
) -> LendingHistory:
    """Simulate all seconds of the load. The same seed gives all strategies the same pages."""
    return _Cluster(load, rules, strategy, seed).run()


class _Cluster:
    def __init__(
        self, load: MachineLoad, rules: LendingRules, strategy: Strategy, seed: int
    ) -> None:
        self._load, self._strategy = load, strategy
        used: Ints = -(-load.paged_bytes // rules.slab_bytes)
        slabs = max(int(used.max(initial=0)), 1)
        self._rates = PagingRates(load.machines, slabs, np.random.default_rng((seed, _PAGING_SEED)))
        self._rng = np.random.default_rng((seed, _CHOICE_SEED))
        tokens = count()
        limits = rules.limits(load.memory_bytes)
        names = [str(machine) for machine in range(load.machines)]
        self._lenders = {
            name: SimulatedLender(name, limits, lambda: next(tokens).to_bytes(8, "big"))
            for name in names
        }
        self._devices = {name: SimulatedDevice(name, slabs) for name in names}
        self._others = {name: [other for other in names if other != name] for name in names}
        nothing: Ints = np.zeros_like(used)
        self._history = LendingHistory(strategy, load, rules, nothing, used, np.zeros_like(nothing))

    def run(self) -> LendingHistory:
        for step in range(self._load.steps):
            self._adjust(self._load.own_bytes[step].tolist())
            pages = self._rates.advance(self._history.used_slabs[step])
            for device, of_slabs in zip(self._devices.values(), pages.tolist(), strict=True):
                device.page(of_slabs)
            self._place()
            self._record(step)
        return self._history

    def _adjust(self, own_bytes: list[int]) -> None:
        for lender, own in zip(self._lenders.values(), own_bytes, strict=True):
            evict = lender.adjust(own)
            if evict:
                self._evict(lender, evict)

    def _evict(self, lender: SimulatedLender, evict: int) -> None:
        extra = self._strategy.extra(evict)
        for slab in lender.victims(evict, extra, self._devices, self._rng):
            owner = self._devices[slab.client]
            self._history.evicted_rates.append(owner.rate(slab.token))
            owner.leave(slab.token)
            lender.done(slab)

    def _place(self) -> None:
        names = list(self._devices)
        for place in self._rng.permutation(len(names)).tolist():
            device = self._devices[names[place]]
            for slab in device.hot_unmapped():
                if not device.place(slab, partial(self._find, device)):
                    self._history.refused += 1
                    break
                self._history.placed += 1

    def _find(self, device: SimulatedDevice) -> SlabMapping | None:
        return find_lender(
            self._others[device.name],
            device.mapped_by_lender,
            lambda name: self._lenders[name].free_slabs(device.name),
            lambda name: self._lenders[name].lend(device.name),
            self._rng,
            self._strategy.to_ask,
        )

    def _record(self, step: int) -> None:
        history = self._history
        history.lent_slabs[step] = [each.mapped_slabs for each in self._lenders.values()]
        used = history.used_slabs[step].tolist()
        history.remote_slabs[step] = [
            sum(slab < most for slab in device.mapped)
            for device, most in zip(self._devices.values(), used, strict=True)
        ]
