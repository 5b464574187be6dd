"""Messages between a worker and the arbiter of its machine: packets that begin with a byte."""

from __future__ import annotations

import struct

from motet.runtime.arbiter.token_table import Token
from motet.runtime.core.subtask import SubtaskKind

TOKENS = {
    SubtaskKind.PULL: Token.NETWORK,
    SubtaskKind.COMP: Token.CPU,
    SubtaskKind.PUSH: Token.NETWORK,
}
"""The token under which each kind of subtask runs."""
CODES = {SubtaskKind.COMP: 0x01, SubtaskKind.PULL: 0x02, SubtaskKind.PUSH: 0x03}
KINDS = {code: kind for kind, code in CODES.items()}
REQUEST = struct.Struct("<BQ")
"""A worker asks for the token of a kind of subtask: its code, and when the mini-batch began here,
microseconds of the machine's monotonic clock. The answer is GRANTED, as late as it may be."""
RELEASE = b"\x10"
"""The subtask has ended; has no answer."""
PING = b"\x11"
"""A worker that waits long asks whether the arbiter still runs; the answer is PONG."""
HELLO = b"\x12"
"""The first packet of a connection, followed by the name of its job; has no answer."""

GRANTED = b"\x20"
SECOND = b"\x22"
"""The network token is granted beside a primary subtask, to which this one yields."""
PROMOTED = b"\x23"
"""The primary subtask has ended: a SECOND one is primary from now on. Its holder may not read it
before its next request."""
PONG = b"\x21"
MOST_BYTES = 256
"""Of a packet."""
