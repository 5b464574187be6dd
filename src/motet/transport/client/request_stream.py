"""One channel of a client: writes requests and reads replies."""

from __future__ import annotations

from collections.abc import Sequence

from motet.transport.channel import ClientChannel
from motet.transport.client.burst import Burst
from motet.transport.client.call import Call
from motet.transport.frame_reader import FrameReader, PayloadPlace
from motet.transport.framing import (
    JOIN_BYTES,
    SHARED_PAYLOAD,
    Piece,
    Reference,
    encode_header,
    encode_lent_request,
    encode_references,
)
from motet.transport.lanes import NO_LANE
from motet.transport.payload_memory import MemoryLender
from motet.transport.sealed_channel import SealedChannel


class RequestStream:
    """Sends payloads inline, or lends large ones if the channel has a lender.

    Another stream replaces it when its channel breaks.
    """

    def __init__(self, channel: ClientChannel, place: PayloadPlace) -> None:
        self.channel = channel
        self.reader = FrameReader(channel, place)
        self._lender = channel.lender

    @property
    def is_local(self) -> bool:
        """Whether large payloads are lent instead of sent."""
        return self._lender is not None

    @property
    def can_ping(self) -> bool:
        """Whether a gap in what the peer received can be found out."""
        return isinstance(self.channel, SealedChannel)

    def ping(self) -> None:
        """Find out whether the last request or its reply was dropped on the way. Raises OSError."""
        if isinstance(self.channel, SealedChannel):
            self.channel.ping()

    def send(self, operation: int, call: Call) -> None:
        """Send a request; blocks until the channel has taken it. Raises OSError."""
        lender = self._lender
        if lender is not None:
            is_lent = call.payload_bytes >= lender.lend_from_bytes
            if is_lent or call.into_bytes >= lender.lend_from_bytes:
                self._send_references(lender, operation, call, is_lent)
                return
        meta = call.meta
        header = encode_header(call.kind, call.lane, operation, 0, len(meta), call.payload_bytes)
        if call.payload_bytes <= JOIN_BYTES:
            self.channel.send((b"".join((header, meta, *call.views)),))
        elif not call.lane:
            self.channel.send([b"".join((header, meta)), *call.views])
        else:
            self.channel.use_lane(call.lane)
            try:
                self.channel.send([b"".join((header, meta)), *call.views])
            finally:
                self.channel.use_lane(NO_LANE)

    def send_burst(self, operations: Sequence[int], burst: Burst) -> None:
        """Send these requests of a burst in as few system calls as possible. Raises OSError."""
        lender, kind = self._lender, burst.kind
        pieces: list[Piece] = []
        for operation in operations:
            request = burst.request(operation)
            if request is None:
                continue
            meta, view = request
            size = len(view)
            if lender is not None and size >= lender.lend_from_bytes:
                place = burst.lend(lender, operation, view)
                lender.announce((place,))
                pieces.append(encode_lent_request(kind, operation, place, meta))
            else:
                head = encode_header(kind, 0, operation, 0, len(meta), size) + meta
                pieces += (head + view,) if size <= JOIN_BYTES else (head, view)
        if len(pieces) > 1 and sum(map(len, pieces)) <= JOIN_BYTES:
            pieces = [b"".join(pieces)]
        if pieces:
            self.channel.send(pieces)

    def _send_references(
        self, lender: MemoryLender, operation: int, call: Call, is_lent: bool
    ) -> None:
        references = _references(lender, call, is_lent)
        lender.announce(references)
        header = encode_header(
            call.kind,
            SHARED_PAYLOAD if is_lent else 0,
            operation,
            len(references),
            len(call.meta),
            call.payload_bytes,
        )
        head = b"".join((header, encode_references(references), call.meta))
        self.channel.send([head] if is_lent else [head, *call.views])


def _references(lender: MemoryLender, call: Call, is_lent: bool) -> list[Reference]:
    """Return where the payload is (if it is lent), then where the reply's payload goes."""
    if call.lease is None:
        call.lease = lender.lease()
    references = []
    if is_lent:
        references.append(call.lease.payload(call.views, call.payload_bytes))
    if call.into and call.into_bytes >= lender.lend_from_bytes:
        references += call.lease.targets(call.into, call.into_bytes)
    return references
