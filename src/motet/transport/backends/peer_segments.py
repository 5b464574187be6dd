"""The server's view of the shared-memory segments of one client."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from motet.domain.arrays import Bytes
from motet.transport.backends.copying import transfer
from motet.transport.backends.segment import SEGMENT_SEALS
from motet.transport.framing import ProtocolError, Reference


class MappedTarget:
    """Mapped memory of a client for the payload of one reply."""

    __slots__ = ("_regions", "size_bytes")

    def __init__(self, regions: Sequence[Bytes]) -> None:
        self._regions = regions
        self.size_bytes = sum(map(len, regions))

    def write(self, views: Sequence[memoryview]) -> None:
        """See ReplyTarget."""
        transfer(views, self._regions)


class PeerSegments:
    """Maps the segments that a client announces; owns the descriptors that arrive with them."""

    def __init__(self) -> None:
        self._descriptors: deque[int] = deque()
        self._mapped: dict[int, Bytes] = {}

    @property
    def segments(self) -> Mapping[int, Bytes]:
        """See PeerMemory."""
        return self._mapped

    def add_descriptors(self, descriptors: Iterable[int]) -> None:
        """Take over file descriptors in the order in which they arrived."""
        self._descriptors.extend(descriptors)

    def attach(self, segment: Reference) -> None:
        """See PeerMemory. Maps the oldest descriptor and closes it."""
        if not self._descriptors:
            raise ProtocolError("a segment was announced without its descriptor")
        descriptor = self._descriptors.popleft()
        try:
            seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
            size_bytes = os.fstat(descriptor).st_size
            if seals & SEGMENT_SEALS != SEGMENT_SEALS or size_bytes != segment.length:
                raise ProtocolError("a client announced a segment that is not sealed to its size")
            memory = mmap.mmap(descriptor, segment.length)
        except OSError as error:
            raise ProtocolError(f"a client's segment cannot be mapped: {error}") from error
        finally:
            os.close(descriptor)
        self._mapped[segment.segment] = np.frombuffer(memory, np.uint8)

    def detach(self, segment_number: int) -> None:
        """See PeerMemory. The mapping ends with the last request that refers to it."""
        self._mapped.pop(segment_number, None)

    def payload(self, reference: Reference) -> memoryview:
        """See PeerMemory."""
        return self._view(reference).data

    def reply_target(self, references: Sequence[Reference]) -> MappedTarget:
        """See PeerMemory."""
        return MappedTarget([self._view(reference) for reference in references])

    def close(self) -> None:
        """Drop all segments and close the descriptors that no announcement belongs to."""
        self._mapped.clear()
        while self._descriptors:
            os.close(self._descriptors.popleft())

    def _view(self, reference: Reference) -> Bytes:
        mapped = self._mapped.get(reference.segment)
        end = reference.offset + reference.length
        if mapped is None or end > len(mapped):
            raise ProtocolError(f"a client refers to memory that it did not share: {reference}")
        return mapped[reference.offset : end]
