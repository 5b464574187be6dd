"""Words for what a step of the engine was given and what it asked for. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.events import (
    Event,
    MachineAdded,
    MachineMeasured,
    PolicyChanged,
    QueueAdded,
    QueueLimited,
    RemainingMeasured,
    Tick,
)
from motet.domain.snapshot import Placement
from motet.insight.wording import counted, where

_OF_JOBS = {
    "Submitted": "submitted",
    "Cancelled": "cancelled",
    "TimedOut": "reached its limit of running time",
    "Suspended": "suspended",
    "Resumed": "resumed by its user",
    "Updated": "changed priority or queue",
    "Delayed": "not to be started for some time",
    "Started": "runs on its slots",
    "Resized": "runs with its new size",
    "Stopped": "has left its slots",
    "StartFailed": "could not be started",
    "Finished": "ended",
    "Failed": "failed",
    "SpeedChanged": "runs at another speed",
    "ProgressMeasured": "reported its progress",
    "SpeedMeasured": "reported its speed",
    "SizeProposed": "proposed another number of workers and servers",
    "SubtasksMeasured": "reported its COMP and COMM times",
    "ModelMeasured": "reported the sizes of its model",
}
_OF_MACHINES = {
    "MachineResized": "has other CPUs or memory",
    "MachineCame": "came",
    "Drained": "drained",
    "MachineLeft": "left",
}


def event_words(event: Event, machines: Sequence[str], queues: Sequence[str]) -> str:
    """What happened, as a short sentence. `machines`, `queues`: names by number."""
    name = type(event).__name__
    match event:
        case Tick():
            return "time passed"
        case PolicyChanged(policy):
            return f"the policy was changed to {policy}"
        case RemainingMeasured(jobs):
            return f"remaining times of {counted(len(jobs), 'job')} were measured"
        case QueueAdded(queue):
            return f"queue {queue} was created"
        case QueueLimited(queue):
            return f"limits of queue {queues[queue]} were set"
        case MachineAdded(_, machine, gpus):
            return f"machine {machine} was added ({counted(gpus, 'slot')})"
        case MachineMeasured(machine):
            return f"the speed of machine {machines[machine]} was measured"
    if name in _OF_MACHINES:
        return f"machine {machines[event.machine]} {_OF_MACHINES[name]}"  # type: ignore[union-attr]
    return f"job {event.job} {_OF_JOBS[name]}"  # type: ignore[union-attr]


def action_words(action: Action, machines: Sequence[str]) -> str:
    """What is to be done, as a short sentence."""
    match action:
        case Preempt(job):
            return f"preempt job {job}"
        case Start(job, placement):
            return f"start job {job} on {_where(placement, machines)}"
        case Migrate(job, placement):
            return f"move or resize job {job} to {_where(placement, machines)}"


def _where(placement: Placement, machines: Sequence[str]) -> str:
    named = zip(*placement, strict=True)
    return where({machines[machine]: count for machine, count in named}).replace("GPU", "slot")
