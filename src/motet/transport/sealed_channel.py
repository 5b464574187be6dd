"""A channel whose bytes are encrypted and authenticated on the way.

It wraps the channel of a backend after the handshake. The plaintext of a record reaches the reader
only after the record was verified.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from motet.transport.channel import Channel
from motet.transport.framing import JOIN_BYTES, Piece
from motet.transport.payload_memory import MemoryLender, PeerMemory
from motet.transport.sealing import (
    LENGTH_BYTES,
    OVERHEAD_BYTES,
    RECORD_BYTES,
    TAG_BYTES,
    Opener,
    Sealer,
    SessionKeys,
)

_ROOM_BYTES = 1 << 16
_SMALL_BYTES = 1 << 15
_NOTHING = memoryview(b"")


class SealedChannel:
    """See Channel. Memory is never lent: the peer is on another host.

    A record without plaintext is a ping. The server answers it, so that a client which waits for
    a reply finds out that its request or the reply was dropped: the records behind a gap do not
    open.
    """

    is_exposed = False

    def __init__(self, channel: Channel, keys: SessionKeys, *, is_server: bool) -> None:
        self._channel = channel
        self._answers_pings = is_server
        to_peer, from_peer = keys if not is_server else reversed(keys)
        self._sealer, self._opener = Sealer(to_peer), Opener(from_peer)
        self._sending = threading.Lock()
        self._records = memoryview(bytearray(RECORD_BYTES + _ROOM_BYTES))
        self._unsent = _NOTHING
        self._unsent_plaintext_bytes = 0
        self._received = bytearray(RECORD_BYTES + OVERHEAD_BYTES + _ROOM_BYTES)
        self._received_view = memoryview(self._received)
        self._start = self._end = 0
        self._plaintext = memoryview(bytearray(RECORD_BYTES))
        self._unread = _NOTHING

    @property
    def lender(self) -> MemoryLender | None:
        """See ClientChannel."""
        return None

    @property
    def peer_memory(self) -> PeerMemory | None:
        """See ServerChannel."""
        return None

    @property
    def deadline_s(self) -> float | None:
        """See Channel."""
        return self._channel.deadline_s

    @deadline_s.setter
    def deadline_s(self, deadline_s: float | None) -> None:
        self._channel.deadline_s = deadline_s

    # -- sending ---------------------------------------------------------------------------------

    def use_lane(self, lane: int) -> None:
        """See Channel."""
        self._channel.use_lane(lane)

    def send(self, pieces: Sequence[Piece]) -> None:
        """See Channel."""
        with self._sending:
            if self._unsent:
                self._flush(may_block=True)
            if len(pieces) == 1 and len(pieces[0]) <= _SMALL_BYTES:
                self._channel.send((self._sealer.record(pieces[0]),))
                return
            for part in _parts(pieces):
                self._seal(part)
                self._flush(may_block=True)

    def send_some(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        """See Channel. After None, the caller sends the same pieces again, in the same order."""
        with self._sending:
            if self._unsent and not self._flush(may_block=may_block):
                return None
            if not self._unsent_plaintext_bytes:
                if len(pieces) == 1 and len(pieces[0]) <= _SMALL_BYTES:
                    record = self._sealer.record(pieces[0])
                    sent_bytes = self._channel.send_some((record,), may_block=may_block)
                    if sent_bytes == len(record):
                        return len(pieces[0])
                    self._unsent = memoryview(record)[sent_bytes or 0 :]
                    self._unsent_plaintext_bytes = len(pieces[0])
                else:
                    self._unsent_plaintext_bytes = self._seal(next(_parts(pieces), ()))
                if not self._flush(may_block=may_block):
                    return None
            sent_bytes, self._unsent_plaintext_bytes = self._unsent_plaintext_bytes, 0
            return sent_bytes

    def ping(self) -> None:
        """Send a record without plaintext, unless another thread is sending. Raises OSError."""
        if self._sending.acquire(blocking=False):
            try:
                if self._flush(may_block=False) and not self._unsent_plaintext_bytes:
                    self._seal([b""])
                    self._flush(may_block=False)
            finally:
                self._sending.release()

    def _seal(self, part: Sequence[Piece]) -> int:
        """Make records of pieces that fit the buffer; return the size of their plaintext."""
        end = size = 0
        for piece in part:
            end += self._sealer.seal(piece, self._records[end:])
            size += len(piece)
        self._unsent = self._records[:end]
        return size

    def _flush(self, *, may_block: bool) -> bool:
        """Send the records; False if that would block and must not."""
        while self._unsent:
            sent_bytes = self._channel.send_some([self._unsent], may_block=may_block)
            if sent_bytes is None:
                return False
            self._unsent = self._unsent[sent_bytes:]
        return True

    # -- receiving -------------------------------------------------------------------------------

    def receive(self, view: memoryview) -> int:
        """See Channel."""
        if self._start == self._end and not self._unread:
            received = self._received_view
            end = self._channel.receive(received)
            self._start, self._end = end, end  # A record that does not open ends the connection.
            size = self._opener.open_only(received, end, view)
            if size:
                return size
            self._start = 0
        return self._receive_in_parts(view)

    def _receive_in_parts(self, view: memoryview) -> int:
        while not self._unread:
            size = self._await_record()
            fits = 0 < size <= len(view)
            start = self._start + LENGTH_BYTES
            self._start = start + size + TAG_BYTES
            plaintext = view[:size] if fits else self._plaintext[:size]
            self._opener.open(self._received_view[start : self._start], plaintext)
            if fits:
                return size
            self._unread = plaintext
            if not size and self._answers_pings:
                self.ping()
        count = min(len(view), len(self._unread))
        view[:count] = self._unread[:count]
        self._unread = self._unread[count:]
        return count

    def receive_all(self, views: Sequence[memoryview]) -> int:
        """See Channel. Returns after the first record, so that its place is known at once."""
        return self.receive(next(view for view in views if view))

    def _await_record(self) -> int:
        """Receive until a whole record is there; return the size of its plaintext."""
        if self._start == self._end:
            self._start = self._end = 0
            self._end = self._channel.receive(self._received_view)
        while True:
            missing_bytes = LENGTH_BYTES - (self._end - self._start)
            if missing_bytes <= 0:
                size = self._opener.plaintext_bytes(self._received, self._start)
                missing_bytes += size + TAG_BYTES
                if missing_bytes <= 0:
                    return size
            self._receive(missing_bytes)

    def _receive(self, missing_bytes: int) -> None:
        if self._end + missing_bytes > len(self._received):
            unread_bytes = self._end - self._start
            self._received[:unread_bytes] = self._received[self._start : self._end]
            self._start, self._end = 0, unread_bytes
        room = self._received_view[self._end :]
        if missing_bytes > _ROOM_BYTES:
            self._end += self._channel.receive_all([room[:missing_bytes]])
        else:
            self._end += self._channel.receive(room)

    # -- end -------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """See Channel."""
        self._channel.shutdown()

    def close(self) -> None:
        """See Channel."""
        self._channel.close()


def _parts(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Divide pieces so that the records of each part fit the buffer; small ones are joined."""
    if len(pieces) == 1 and len(pieces[0]) <= RECORD_BYTES:
        yield [pieces[0]]
        return
    part: list[Piece] = []
    small: list[Piece] = []
    size = small_bytes = 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            taken = rest[: RECORD_BYTES - size]
            rest = rest[len(taken) :]
            size += len(taken)
            if len(taken) <= JOIN_BYTES and small_bytes + len(taken) <= JOIN_BYTES:
                small.append(taken)
                small_bytes += len(taken)
            else:
                if small:
                    part.append(b"".join(small))
                small, small_bytes = [], 0
                part.append(taken)
            if size == RECORD_BYTES:
                yield [*part, b"".join(small)] if small else part
                part, small, size, small_bytes = [], [], 0, 0
    if part or small:
        yield [*part, b"".join(small)] if small else part
