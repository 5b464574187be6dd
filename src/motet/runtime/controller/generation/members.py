"""Which executors take part in a generation, and which of them compute which mini-batch."""

from __future__ import annotations

from collections.abc import Mapping

from motet.runtime.controller.ports import ExecutorHandle
from motet.transport import Endpoint


class Members:
    """A register of executors; nothing here sends a message.

    An executor's number may be used again within a generation. `life` counts from 0 how many
    executors had it before.
    """

    def __init__(self, handles: Mapping[int, ExecutorHandle], workers: tuple[int, ...]) -> None:
        """`workers` compute the first mini-batch."""
        self._handles = dict(handles)
        self._endpoints = {number: handle.endpoint() for number, handle in handles.items()}
        self._lives = dict.fromkeys(handles, 0)
        self._dismissed: set[tuple[int, int]] = set()
        self._workers = [(0, workers)]

    @property
    def numbers(self) -> list[int]:
        """Executors that take part now, ascending."""
        return sorted(self._handles)

    @property
    def handles(self) -> list[ExecutorHandle]:
        """Their handles."""
        return list(self._handles.values())

    @property
    def endpoints(self) -> dict[int, Endpoint]:
        """Addresses of all that took part, also of those that begin to."""
        return dict(self._endpoints)

    def life_of(self, number: int) -> int:
        """How many executors of this number there were before the present one."""
        return self._lives[number]

    def begin_life(self, handle: ExecutorHandle) -> None:
        """An executor was started; it takes part after `add`."""
        self._endpoints[handle.number] = handle.endpoint()
        self._lives[handle.number] = self._lives.get(handle.number, -1) + 1

    def add(self, handle: ExecutorHandle) -> None:
        """The executor takes part from now on."""
        self._handles[handle.number] = handle

    def expect_end(self, number: int) -> None:
        """The present executor of this number may end: that is no loss."""
        self._dismissed.add((number, self._lives[number]))

    def remove(self, number: int) -> ExecutorHandle:
        """The executor takes part no longer."""
        return self._handles.pop(number)

    def is_expected(self, number: int, life: int) -> bool:
        """Whether an executor may end.

        Its end may become known when its number is in use again, for another life.
        """
        return (number, life) in self._dismissed

    def workers_at(self, clock: int) -> tuple[int, ...]:
        """Workers of a mini-batch; final as soon as one of them has begun it."""
        return next(workers for since, workers in reversed(self._workers) if since <= clock)

    def set_workers(self, workers: tuple[int, ...], clock: int) -> None:
        """These compute from a mini-batch on that no worker has begun."""
        self._workers.append((clock, workers))
