"""What a look at a joined cluster means: machines that have come, changed or left. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from motet.domain.events import Drained, Event, MachineAdded, MachineCame, MachineLeft
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterReached, Fact, MachineCondition, MachineNoted
from motet.live.master.intake_result import Intake
from motet.live.master.state import LiveState


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
        if condition != was:
            yield MachineNoted(name, slots[number], condition), (_EVENTS[condition](number),)
    for number, machine in enumerate(seen.values(), start=len(names)):
        added: Event = MachineAdded(number, machine.name, machine.slots)
        condition = _condition(machine, machine.slots)
        later = () if condition == "up" else (Drained(number),)
        yield MachineNoted(machine.name, machine.slots, condition), (added, *later)


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
