"""Changes of the machines: those that a joined cluster shows, and drains by users. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from motet.domain.errors import BadInput
from motet.domain.events import (
    Drained,
    Event,
    MachineAdded,
    MachineCame,
    MachineLeft,
    MachineResized,
)
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import (
    ClusterDeclared,
    ClusterReached,
    DrainBegan,
    Fact,
    MachineCondition,
    MachineDrained,
    MachineNoted,
    MachineResumed,
)
from motet.live.master.intake_result import Intake
from motet.live.master.state import LiveState
from motet.live.slots.devices import devices_of, devices_text


def cluster_seen(state: LiveState, report: ClusterSeen) -> Intake:
    """Compare with what is known. Out of reach, a cluster takes no jobs; its own run on."""
    changes = list(_changes(state, report))
    facts: list[Fact] = [fact for fact, _ in changes]
    if report.refusal != state.refusal:
        facts.append(ClusterReached(report.refusal))
    events = [event for _, found in changes for event in found]
    return Intake(tuple(facts), tuple(events))


def _changes(
    state: LiveState, report: ClusterSeen
) -> Iterator[tuple[MachineNoted, tuple[Event, ...]]]:
    assert state.cluster is not None
    names, slots = state.cluster.names, state.cluster.slots
    seen = {machine.name: machine for machine in report.machines}
    for number, name in enumerate(names):
        was, found = state.conditions[number], seen.pop(name, None)
        condition = _out_of_reach(was) if report.refusal else _condition(found, slots[number])
        devices = state.cluster.devices_of(number) if found is None else devices_of(found.devices)
        if condition == was and devices == state.cluster.devices_of(number):
            continue
        text = devices_text(devices)
        if condition == was:
            yield MachineNoted(name, slots[number], condition, text), ()
        else:
            kind = _EVENTS[condition]
            if condition == "up" and state.drains.has_begun(name):
                kind = Drained
            other = _other_size(state.cluster, number, found) if was == "gone" else (0, 0)
            resized = (MachineResized(number, *other),) if any(other) else ()
            noted = MachineNoted(name, slots[number], condition, text, *other)
            yield noted, (*resized, kind(number))
    for number, machine in enumerate(seen.values(), start=len(names)):
        resources = machine.cpus, machine.memory_bytes
        added: Event = MachineAdded(number, machine.name, machine.slots, *resources)
        condition = _condition(machine, machine.slots)
        later = () if condition == "up" else (Drained(number),)
        size = machine.slots, condition, machine.devices
        yield MachineNoted(machine.name, *size, *resources), (added, *later)


def _other_size(
    cluster: ClusterDeclared, machine: int, found: MachineSeen | None
) -> tuple[int, int]:
    """CPUs and memory of a machine that has returned with others; zeros: they are as before.

    Memory differs a little from one start of a machine to the next: that is no change.
    """
    if found is None or not (found.cpus and found.memory_bytes):
        return 0, 0
    before = cluster.memory_of(machine)
    has_other_memory = abs(found.memory_bytes - before) > _SAME_MEMORY * before
    if found.cpus == cluster.cpus_of(machine) and not has_other_memory:
        return 0, 0
    return found.cpus, found.memory_bytes


_SAME_MEMORY = 0.05
_EVENTS: Mapping[MachineCondition, type[MachineCame | Drained | MachineLeft]] = {
    "up": MachineCame,
    "closed": Drained,
    "gone": MachineLeft,
}


def _out_of_reach(was: MachineCondition) -> MachineCondition:
    return "closed" if was == "up" else was


def _condition(machine: MachineSeen | None, slots: int) -> MachineCondition:
    """A machine that comes back with another number of slots takes no jobs."""
    if machine is None:
        return "gone"
    return "up" if machine.takes_jobs and machine.slots == slots else "closed"


# -- drains ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DrainMachine:
    """A user wants a machine to take no further jobs. `from_us`: None is at once."""

    name: str
    reason: str
    user: str
    from_us: int | None = None


@dataclass(frozen=True, slots=True)
class BeginDrain:
    """The time of a planned drain has come."""

    name: str


@dataclass(frozen=True, slots=True)
class ResumeMachine:
    """A user wants a machine to take jobs again."""

    name: str
    user: str


def drain_or_resume(
    state: LiveState, now_us: int, given: DrainMachine | BeginDrain | ResumeMachine
) -> Intake:
    """Raises UnknownName for a machine that is not known, BadInput."""
    match given:
        case DrainMachine():
            return _drain(state, now_us, given)
        case BeginDrain(name):
            return Intake((DrainBegan(name),), (Drained(state.machine(name)),))
        case ResumeMachine():
            return _resume(state, given)


def _drain(state: LiveState, now_us: int, given: DrainMachine) -> Intake:
    """A drain that is planned or has begun is replaced."""
    number = state.machine(given.name)
    if given.from_us is not None and given.from_us <= now_us:
        raise BadInput("the time of the drain has passed; leave it out to drain at once")
    fact = MachineDrained(given.name, given.reason, given.user, given.from_us)
    if given.from_us is not None:
        if state.drains.has_begun(given.name):
            raise BadInput(f"{given.name} is drained already; resume it first")
        return Intake((fact,))
    return Intake((fact,), (Drained(number),))


def _resume(state: LiveState, given: ResumeMachine) -> Intake:
    number = state.machine(given.name)
    if given.name not in state.drains.of:
        raise BadInput(f"{given.name} is not drained")
    fact = MachineResumed(given.name, given.user)
    is_usable = state.drains.has_begun(given.name) and state.conditions[number] == "up"
    return Intake((fact,), (MachineCame(number),) if is_usable else ())


def drain_after_failures(state: LiveState, name: str, reason: str) -> Intake:
    """What a further infrastructure failure on a machine means: the last of a row drains it.

    The last machine that takes jobs is not drained: its jobs wait longer from retry to retry.
    """
    assert state.cluster is not None
    row = state.drains.failures.get(name, 0) + 1
    others = (
        other != name and condition == "up" and not state.drains.has_begun(other)
        for other, condition in zip(state.cluster.names, state.conditions, strict=True)
    )
    if not 0 < state.drain_after <= row or state.drains.has_begun(name) or not any(others):
        return Intake()
    told = f"{row} failures of the infrastructure in a row, the last one: {reason}"
    return Intake((MachineDrained(name, told, ""),), (Drained(state.machine(name)),))
