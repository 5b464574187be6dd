"""A job that configured itself, from the events that it left. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from support.evidence import Shape

SETTLING_EPOCHS = 2
"""After a change: the one that it ended in, and the first with new mini-batches."""
RECOVERY = "recovery"


@dataclass(frozen=True)
class TimedEpoch:
    """An epoch. `at_s`: its end, in seconds since training began; blocks: on every machine."""

    at_s: float
    wall_s: float
    shape: Shape
    data_blocks: tuple[int, ...]
    model_blocks: tuple[int, ...]


@dataclass(frozen=True)
class Change:
    """A reconfiguration. `at_s`: its end; epochs done when it began, and when it ended.

    `predicted_s`: the epoch after it.
    """

    at_s: float
    began: int
    ended: int
    before: Shape
    after: Shape
    plan_s: float
    moved_bytes: int
    stall_s: float
    predicted_s: float | None


@dataclass(frozen=True)
class AutoRun:
    """A run with its changes. `marks`: what else happened, and when."""

    start: Shape
    epochs: tuple[TimedEpoch, ...]
    changes: tuple[Change, ...]
    marks: tuple[tuple[float, str], ...] = ()

    @classmethod
    def of(cls, events: Iterable[Mapping[str, Any]]) -> AutoRun:
        """From the events of `autotuned.py` and of its caller."""
        listed = sorted(events, key=lambda event: event["at_s"])
        began_s = next(event["at_s"] for event in listed if event["kind"] == "started")
        epochs = [event for event in listed if event["kind"] == "epoch"]
        return cls(
            (epochs[0]["workers"], epochs[0]["servers"]),
            tuple(_epoch(event, began_s) for event in epochs),
            tuple(_changes(listed, began_s)),
            tuple(_marks(listed, began_s)),
        )

    @property
    def final(self) -> Shape:
        """Where it ended."""
        return self.epochs[-1].shape

    @property
    def first_s(self) -> float:
        """The epoch before anything was changed; the first one, cold, apart."""
        until = self.changes[0].began if self.changes else len(self.epochs)
        return median_s(self.epochs[1:until] or self.epochs[:1])

    @property
    def final_s(self) -> float:
        """The epoch after the last change."""
        since = self.changes[-1].ended + SETTLING_EPOCHS if self.changes else 1
        return median_s(self.epochs[since:] or self.epochs[-1:])

    @property
    def saved(self) -> float:
        """The part of an epoch's time that was saved."""
        return 1 - self.final_s / self.first_s

    def after(self, number: int) -> float | None:
        """The epoch between a change and the next one, in seconds; None: it never settled."""
        since = self.changes[number].ended + SETTLING_EPOCHS
        later = self.changes[number + 1 :]
        until = later[0].began if later else len(self.epochs)
        settled = self.epochs[since:until]
        return median_s(settled) if settled else None

    def before(self, time_s: float, count: int = 8) -> float:
        """The median of the last epochs before a moment."""
        return median_s([epoch for epoch in self.epochs if epoch.at_s <= time_s][-count:])


def median_s(epochs: Sequence[TimedEpoch]) -> float:
    """Of at least one epoch."""
    return median(epoch.wall_s for epoch in epochs)


def _epoch(event: Mapping[str, Any], began_s: float) -> TimedEpoch:
    return TimedEpoch(
        event["at_s"] - began_s,
        event["wall_s"],
        (event["workers"], event["servers"]),
        tuple(event["data_blocks"]),
        tuple(event["model_blocks"]),
    )


def _changes(listed: Sequence[Mapping[str, Any]], began_s: float) -> Iterable[Change]:
    epochs, began, predicted_s = 0, 0, None
    for event in listed:
        if event["kind"] == "epoch":
            epochs += 1
        elif event["kind"] == "decision" and event["before"] != event["after"]:
            began, predicted_s = epochs, event["predicted_s"]
        elif event["kind"] == "reconfigured" and not event["error"]:
            yield Change(
                event["at_s"] - began_s,
                began,
                epochs,
                (event["before"]["workers"], event["before"]["servers"]),
                (event["after"]["workers"], event["after"]["servers"]),
                event["plan_s"],
                event["moved_bytes"],
                event["stall_s"],
                predicted_s,
            )


def _marks(listed: Sequence[Mapping[str, Any]], began_s: float) -> Iterable[tuple[float, str]]:
    for event in listed:
        if event["kind"] == "mark":
            yield event["at_s"] - began_s, event["text"]
        elif event["kind"] == "recovering":
            yield event["at_s"] - began_s, RECOVERY
