"""How many of a worker's sections are on disk: by memory pressure, then by hill climbing. Pure.

Source: W.-Y. Lee, dissertation, section 4.3.3. As few sections as possible are on disk, so many
that the machine has memory to spare, and no more than can be read while others are computed with:

    T_proc (B_total - 1) >= T_load (B_disk - 1).

Within a band of free memory the number is moved by hill climbing on the measured time of an epoch.
Every job of a machine decides for itself, in proportion to its own data in memory, so that together
they free about what is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from motet.runtime.spilling.machine_memory import MemoryState

_LEAST_FREE, _ENOUGH_FREE = 0.12, 0.24
_LARGEST_LEAST, _LARGEST_ENOUGH = 1 << 30, 5 << 29
_MAJOR_FAULTS = 1000
_CLIMB_STEPS = 16
_IMPROVEMENT = 0.02
_LONGEST_PAUSE = 32
_MOST_APART = 0.05


@dataclass(frozen=True)
class EpochLoads:
    """Of one epoch. `wall_s`: its time; `process_s`, `load_s`: of a section, in memory and from
    disk; 0: unknown."""

    wall_s: float
    process_s: float
    load_s: float


@dataclass(frozen=True)
class SpillState:
    """`on_disk` of `sections`, each of about `section_bytes`. `before`: epoch's time and number
    before the trial that runs; None: there is none. `step`: signed, of the next trial. `pause`:
    epochs until then; `next_pause`: after a trial that did not help. `faults`: major faults seen.
    """

    sections: int
    section_bytes: float
    on_disk: int
    before: tuple[float, int] | None = None
    step: int = -1
    pause: int = 1
    next_pause: int = 1
    faults: int = 0

    @property
    def share(self) -> float:
        """Of the sections that are on disk."""
        return self.on_disk / self.sections if self.sections else 0.0

    @property
    def resident_bytes(self) -> float:
        """Of the sections in memory."""
        return (self.sections - self.on_disk) * self.section_bytes


def least_free(memory: MemoryState) -> float:
    """Bytes: with less, sections are spilled."""
    return min(_LEAST_FREE * memory.limit_bytes, _LARGEST_LEAST)


def enough_free(memory: MemoryState) -> float:
    """Bytes: with more, sections may stay in memory. Between both, a job has room for the sections
    that are read ahead, and for what other jobs allocate between two looks at the memory."""
    return min(_ENOUGH_FREE * memory.limit_bytes, _LARGEST_ENOUGH)


def first_share(data_bytes: int, memory: MemoryState) -> float:
    """Before the sections are made: what does not fit into the free memory is on disk."""
    room = memory.free_bytes - enough_free(memory)
    return 1.0 - min(max(room / data_bytes, 0.0), 1.0) if data_bytes else 0.0


def left_for_input(memory: MemoryState, absent_bytes: int) -> MemoryState:
    """The memory that input may return to: what is free beyond enough is left to a model on disk,
    which would take so many bytes."""
    spare = max(memory.free_bytes - enough_free(memory), 0)
    return replace(memory, free_bytes=memory.free_bytes - int(min(spare, absent_bytes)))


def most_on_disk(sections: int, loads: EpochLoads) -> int:
    """The most sections whose loading does not delay the computation."""
    if not (loads.load_s > 0 and loads.process_s > 0):
        return sections
    return min(sections, 1 + math.floor(loads.process_s * (sections - 1) / loads.load_s))


def found_on_disk(state: SpillState, on_disk: int) -> SpillState:
    """So many are on disk; if they are others than the state says, a trial says nothing."""
    if on_disk == state.on_disk:
        return state
    return replace(state, on_disk=on_disk, before=None, pause=state.next_pause)


def relieved(state: SpillState, memory: MemoryState) -> SpillState:
    """At any time: more on disk if memory runs short."""
    missing = least_free(memory) - memory.free_bytes
    is_thrashing = memory.major_faults - state.faults > _MAJOR_FAULTS
    state = replace(state, faults=memory.major_faults)
    if missing <= 0 and not is_thrashing:
        return state
    used = max(memory.limit_bytes - memory.free_bytes, 1)
    own_part = missing + (enough_free(memory) - least_free(memory)) / 2
    wanted = math.ceil(own_part * min(state.resident_bytes / used, 1) / state.section_bytes)
    on_disk = min(state.sections, state.on_disk + max(wanted, 1))
    return replace(state, on_disk=on_disk, before=None, pause=state.next_pause)


def after_epoch(
    state: SpillState, memory: MemoryState, loads: EpochLoads, mean_share: float | None = None
) -> SpillState:
    """At the end of an epoch: fewer on disk if there is room, else a step of hill climbing.

    `mean_share`: of all input of jobs with the same memory, how much is on disk; None: unknown.
    """
    if memory.free_bytes < least_free(memory):
        return relieved(state, memory)
    spare = memory.free_bytes - enough_free(memory)
    behind = 0.0 if mean_share is None else mean_share - state.share
    if abs(behind) > _MOST_APART and state.before is None:
        return _evened(state, memory, behind)
    if spare > 0:
        fewer = min(max(int(spare / 2 / state.section_bytes), 1), state.on_disk)
        return replace(state, on_disk=state.on_disk - fewer, before=None)
    is_below_mean = behind > 0  # Others have more on disk, and need the memory first.
    if state.on_disk > (most := most_on_disk(state.sections, loads)) and not is_below_mean:
        fewer = min(state.on_disk - most, _room(state, memory))
        if fewer > 0:
            return replace(state, on_disk=state.on_disk - fewer, before=None)
    return _climbed(state, memory, loads)


def _evened(state: SpillState, memory: MemoryState, behind: float) -> SpillState:
    """Halve the distance from the mean share: a job that came first has the memory until it gives
    some to those that came later."""
    sections = max(round(abs(behind) / 2 * state.sections), 1)
    if behind < 0:
        fewer = min(sections, max(_room(state, memory), 0), state.on_disk)
        return replace(state, on_disk=state.on_disk - fewer)
    if memory.free_bytes >= enough_free(memory):  # Others will take that.
        return state
    return replace(state, on_disk=min(state.on_disk + sections, state.sections))


def _climbed(state: SpillState, memory: MemoryState, loads: EpochLoads) -> SpillState:
    if state.before is not None:
        return _judged(state, memory, loads, *state.before)
    if state.pause:
        return replace(state, pause=state.pause - 1)
    size = max(1, state.sections // _CLIMB_STEPS)
    if state.step < 0:
        change = -min(size, _room(state, memory), state.on_disk)
    else:  # More free memory than enough would be taken back.
        unfreed = (enough_free(memory) - memory.free_bytes) / state.section_bytes
        change = min(size, int(unfreed))
    most = most_on_disk(state.sections, loads)
    on_disk = min(state.on_disk + change, max(most, state.on_disk - max(_room(state, memory), 0)))
    if on_disk == state.on_disk:
        return replace(state, step=-state.step, pause=state.next_pause)
    return replace(state, on_disk=on_disk, before=(loads.wall_s, state.on_disk))


def _room(state: SpillState, memory: MemoryState) -> int:
    """How many sections more memory has room for."""
    return int((memory.free_bytes - least_free(memory)) / state.section_bytes)


def _judged(
    state: SpillState, memory: MemoryState, loads: EpochLoads, wall_s: float, on_disk: int
) -> SpillState:
    """The end of a trial: keep the number and go on, or go back, as far as there is room, and
    turn."""
    if loads.wall_s <= wall_s * (1 - _IMPROVEMENT):
        return replace(state, before=None, pause=0, next_pause=1)
    return replace(
        state,
        on_disk=max(on_disk, state.on_disk - _room(state, memory)),
        before=None,
        step=-state.step,
        pause=state.next_pause,
        next_pause=min(2 * state.next_pause, _LONGEST_PAUSE),
    )
