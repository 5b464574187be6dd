"""Requests that wait until tensors have reached a version, or have the mean of a step. Pure."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def after_all(count: int, call: Callable[[], None]) -> Callable[[], None]:
    """A call that has an effect when it is made for the last of so many times, by any thread."""
    arrivals = itertools.count(1)  # Its `next` is atomic.

    def arrive() -> None:
        if next(arrivals) == count:
            call()

    return arrive


@dataclass(eq=False)
class _Waiting:
    """`missing`: tensors that have not reached the target yet; 0: answered."""

    missing: int
    respond: Callable[[], None]


class WaitingRequests:
    """By tensor, the requests that wait for it, and for which step. `numbers`: of these tensors."""

    def __init__(self) -> None:
        self._waits: dict[int, list[tuple[int, _Waiting]]] = defaultdict(list)
        self.numbers = self._waits.keys()

    def add(self, missing: Sequence[int], target: int, respond: Callable[[], None]) -> None:
        """Respond once all these tensors have reached the target."""
        waiting = _Waiting(len(missing), respond)
        for number in missing:
            self._waits[number].append((target, waiting))

    def is_wanted(self, number: int, target: int) -> bool:
        """Whether a request waits for exactly this."""
        return any(wanted == target for wanted, _ in self._waits.get(number, ()))

    def wake(self, number: int, reached: int) -> list[Callable[[], None]]:
        """A tensor has come so far; returns the answers that are possible now."""
        entries = self._waits.pop(number)
        later = [entry for entry in entries if entry[0] > reached]
        if later:
            self._waits[number] = later
        calls = []
        for target, waiting in entries:
            if target <= reached and waiting.missing:
                waiting.missing -= 1
                if not waiting.missing:
                    calls.append(waiting.respond)
        return calls

    def remove(self, number: int) -> list[Callable[[], None]]:
        """The tensor is not here any more: returns the answers to all that wait for it."""
        calls = []
        for _, waiting in self._waits.pop(number, ()):
            if waiting.missing:
                waiting.missing = 0
                calls.append(waiting.respond)
        return calls
