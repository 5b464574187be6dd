"""What a `motet train` run said and reported, as numbers. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from support.evidence import Shape

_EPOCH = re.compile(r"epoch (\d+)/\d+ .* ([\d.,]+)( [kMG])? instances/s")
_CHANGED = re.compile(r"reconfigured after epoch \d+: ")
_FACTORS = {None: 1.0, " k": 1e3, " M": 1e6, " G": 1e9}
SETTLING_EPOCHS = 2
"""After a change: the one that it ended in, and the first with new mini-batches."""


@dataclass(frozen=True)
class TimedEpoch:
    """An epoch as it was announced. `at_s`: its end, since the command began."""

    at_s: float
    number: int
    wall_s: float


@dataclass(frozen=True)
class Change:
    """A reconfiguration. `at_s`: its end; epochs announced when it began, and when it ended."""

    at_s: float
    at_epoch: int
    epochs_then: int
    before: Shape
    after: Shape
    plan_s: float
    moved_bytes: int
    stall_s: float
    predicted_gain: float | None


@dataclass(frozen=True)
class AutoRun:
    """A run with its changes. `lines`: seconds since it began, and what was said."""

    start: Shape
    epochs: tuple[TimedEpoch, ...]
    changes: tuple[Change, ...]
    lines: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> AutoRun:
        """From a file that `run_train` wrote."""
        document, lines = run["document"], [(at, text) for at, text in run["lines"]]
        epochs, ends = _epochs(lines, _instances(run)), _ends(lines)
        done = [it for it in document["reconfigurations"] if not it["error"]]
        changes = tuple(_change(it, *end) for it, end in zip(done, ends, strict=False))
        return cls((document["workers"], document["servers"]), epochs, changes, tuple(lines))

    @property
    def final(self) -> Shape:
        """Where it ended."""
        return self.changes[-1].after if self.changes else self.start

    @property
    def first_s(self) -> float:
        """The epoch before anything was changed; the first one, cold, apart."""
        until = self.changes[0].at_epoch if self.changes else len(self.epochs)
        return _median_s(self.epochs[1:until] or self.epochs[:1])

    @property
    def final_s(self) -> float:
        """The epoch after the last change."""
        since = self.changes[-1].epochs_then + SETTLING_EPOCHS if self.changes else 1
        return _median_s(self.epochs[since:] or self.epochs[-1:])

    def gain_of(self, number: int) -> float:
        """The part of an epoch's time that a change saved, as measured before and after it."""
        change, later = self.changes[number], self.changes[number + 1 :]
        since = self.changes[number - 1].epochs_then + SETTLING_EPOCHS if number else 1
        until = later[0].epochs_then if later else len(self.epochs)
        before = self._started(change, since)
        after = self.epochs[change.epochs_then + SETTLING_EPOCHS : until]
        return 1 - _median_s(after or self.epochs[until - 1 : until]) / _median_s(before)

    def _started(self, change: Change, since: int) -> tuple[TimedEpoch, ...]:
        """The epochs from number `since` to the beginning of a change, at least one."""
        until = change.at_epoch
        return self.epochs[since:until] or self.epochs[max(until - 1, 0) : max(until, 1)]

    @property
    def saved(self) -> float:
        """The part of an epoch's time that was saved."""
        return 1 - self.final_s / self.first_s


def _median_s(epochs: Sequence[TimedEpoch]) -> float:
    return median(epoch.wall_s for epoch in epochs)


def _instances(run: Mapping[str, Any]) -> int:
    """From what it said when it began: `training: 1,500 instances, model 985 kB`."""
    for _, text in run["lines"]:
        found = re.match(r"training: ([\d,]+) instances", text)
        if found:
            return int(found[1].replace(",", ""))
    raise ValueError("the run never said that it began to train")


def _epochs(lines: Sequence[tuple[float, str]], instances: int) -> tuple[TimedEpoch, ...]:
    made = []
    for at_s, text in lines:
        found = _EPOCH.match(text)
        if found:
            rate = float(found[2].replace(",", "")) * _FACTORS[found[3]]
            made.append(TimedEpoch(at_s, int(found[1]), instances / rate))
    return tuple(made)


def _ends(lines: Sequence[tuple[float, str]]) -> list[tuple[float, int]]:
    """When reconfigurations ended, and after how many announced epochs."""
    ends, seen = [], 0
    for at_s, text in lines:
        seen += bool(_EPOCH.match(text))
        if _CHANGED.match(text):
            ends.append((at_s, seen))
    return ends


def _change(entry: Mapping[str, Any], at_s: float, epochs_then: int) -> Change:
    return Change(
        at_s,
        entry["at_epoch"],
        epochs_then,
        (entry["from"]["workers"], entry["from"]["servers"]),
        (entry["to"]["workers"], entry["to"]["servers"]),
        entry["plan_s"],
        entry["moved_bytes"],
        entry["stall_s"],
        entry["predicted_gain"],
    )
