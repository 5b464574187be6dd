"""Requests to a store that have begun: several are in flight at a time, each is finished once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias


class DestinationLost(OSError):
    """A lender that was lost may still write to the memory of a read, which it can access: the
    caller uses that memory for nothing else, and reads again into memory of its own process."""


class StoreOperation(Protocol):
    """A read or write in progress. Its memory must not change before the end of `finish`."""

    def finish(self) -> None:
        """Wait until it is complete. Raises OSError: the backup failed, and no lender has it;
        DestinationLost."""
        ...


class WriteOperation(StoreOperation, Protocol):
    """Consecutive writes that have begun together."""

    def finish_all(self) -> Sequence[OSError | None]:
        """Wait until all are complete; of each, in their order, why it failed."""
        ...


PageWrite: TypeAlias = tuple[int, memoryview]
"""Offset and content."""


class PageStore(Protocol):
    """What a door needs of a device. Offsets and lengths are multiples of the page size."""

    @property
    def size_bytes(self) -> int:
        """Of the device."""
        ...

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        """Read into memory, which is complete after `finish`."""
        ...

    def begin_write(self, offset: int, data: memoryview) -> StoreOperation:
        """Write; later reads see it at the latest after `finish`. Raises OSError."""
        ...

    def forget(self, offset: int, length: int) -> None:
        """The content does not matter any more: what is read there is undefined."""
        ...

    def flush(self) -> None:
        """All finished writes survive a crash of the machine. Raises OSError."""
        ...


class BatchStore(PageStore, Protocol):
    """What a door needs that has several requests at a time."""

    def begin_writes(self, writes: Sequence[PageWrite]) -> Sequence[WriteOperation]:
        """As `begin_write` of each, in their order, in less time: one operation or several."""
        ...


class FailedOperation:
    """A write that could not begin."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def finish(self) -> None:
        """See StoreOperation."""
        raise self._error

    def finish_all(self) -> Sequence[OSError | None]:
        """See WriteOperation."""
        return (self._error,)


class JoinedOperations:
    """Complete when all parts are. Of several errors it raises DestinationLost: the caller's memory
    may still change then, whatever else has failed."""

    def __init__(self, parts: Sequence[StoreOperation]) -> None:
        self._parts = parts

    def finish(self) -> None:
        """See StoreOperation."""
        failure: OSError | None = None
        for part in self._parts:
            try:
                part.finish()
            except OSError as error:
                if not isinstance(failure, DestinationLost):
                    failure = error
        if failure is not None:
            raise failure

    def finish_all(self) -> Sequence[OSError | None]:
        """See WriteOperation: as parts of one write."""
        try:
            self.finish()
        except OSError as error:
            return (error,)
        return (None,)


def joined(parts: Iterable[StoreOperation]) -> StoreOperation:
    """The parts of a request that crosses slabs, as they begin.

    Raises OSError if one does not begin, once those before it are complete; DestinationLost if one
    of these does.
    """
    begun = list[StoreOperation]()
    try:
        for part in parts:
            begun.append(part)
    except OSError as failure:
        try:
            JoinedOperations(begun).finish()
        except DestinationLost:
            raise
        except OSError:
            raise failure from None
        raise
    return JoinedOperations(begun)
