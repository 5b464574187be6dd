"""Logs of processes, read in parts from a server: up to now, or to the end of the job."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple

from motet.domain.errors import BadInput, Unreachable
from motet.interfaces.api_access.server_absence import AbsenceListener, ServerAbsence

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient, LogReply

_LOOK_S = 0.5


class LogChunk(NamedTuple):
    """The next bytes of the log of an attempt, at least one."""

    attempt: int
    data: bytes


class ProcessLog:
    """The logs of one process of a job, an attempt after the other. Both iterators raise what
    LiveClient raises."""

    def __init__(
        self,
        client: LiveClient,
        job: str,
        rank: int,
        tell: AbsenceListener | None = None,
    ) -> None:
        """`tell`: called with why a log that is followed does not go on for now. None: without a
        server it ends."""
        self._client, self._job, self._rank, self._tell = client, job, rank, tell

    def until_now(self, attempt: int = 0) -> Iterator[LogChunk]:
        """What one attempt has written when this begins, and no more, however fast it writes.

        `attempt`: 0 is the last one.
        """
        reply = self._part(attempt, 0)
        size = math.inf if reply.size is None else reply.size
        while reply.data:
            yield LogChunk(reply.attempt, reply.data)
            if reply.is_complete or reply.next_offset >= size:
                return
            reply = self._part(reply.attempt, reply.next_offset)

    def until_end(self, attempt: int = 0) -> Iterator[LogChunk]:
        """A log as it grows, to its last byte; no byte comes twice. Where there is somebody to
        tell, a server that has answered once may be away for LONGEST_ABSENCE_S, and be started
        again elsewhere.

        `attempt`: 0 is the last one and those that follow it, on whatever machine, until the job
        has ended. Those that have no such process are left out. Raises BadInput if none can have.
        """
        self._part(attempt, 0)  # Without a server there is nothing to follow.
        number = attempt or self._first()
        while number:
            end = yield from self._whole(number)
            number = 0 if attempt else self._next(number, end)

    def _first(self) -> int:
        """The last attempt as soon as there is one; 0: the job has ended without any."""
        while not (reply := self._patient_part(0, 0)).attempt:
            if reply.is_complete:
                return 0
            time.sleep(_LOOK_S)
        return reply.attempt

    def _whole(self, attempt: int) -> Generator[LogChunk, None, int]:
        """The log of an attempt to its end; returns its length, 0 without this process."""
        offset, is_complete = 0, False
        while not is_complete:
            reply = self._part_if_any(attempt, offset)
            if reply is None:
                return 0
            offset, is_complete = reply.next_offset, reply.is_complete
            if reply.data:
                yield LogChunk(attempt, reply.data)
            elif not is_complete:
                time.sleep(_LOOK_S)
        return offset

    def _next(self, attempt: int, end: int) -> int:
        """The attempt after one that has ended; 0: there will be none."""
        while (reply := self._part_if_any(0, end)) is not None and reply.attempt <= attempt:
            if reply.is_complete:
                return 0
            time.sleep(_LOOK_S)
        return 0 if reply is None else attempt + 1

    def _part_if_any(self, attempt: int, offset: int) -> LogReply | None:
        """None: the attempt does not have this process; without `attempt`, the job has ended so."""
        try:
            return self._patient_part(attempt, offset)
        except BadInput:
            return None

    def _patient_part(self, attempt: int, offset: int) -> LogReply:
        absence = ServerAbsence(self._client, self._tell, "until then the log waits")
        while True:
            try:
                return self._part(attempt, offset)
            except Unreachable as error:
                absence.endure(error)

    def _part(self, attempt: int, offset: int) -> LogReply:
        return self._client.log_part(self._job, rank=self._rank, attempt=attempt, offset=offset)
