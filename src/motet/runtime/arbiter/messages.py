"""Messages between a worker and the arbiter of its machine: packets of one byte."""

from __future__ import annotations

from motet.runtime.arbiter.token_table import Token

REQUESTS = {token: bytes([token]) for token in Token}
"""A worker asks for a token; the answer is GRANTED, as late as it may be."""
RELEASE = b"\x10"
"""The subtask has ended; has no answer."""
PING = b"\x11"
"""A worker that waits long asks whether the arbiter still runs; the answer is PONG."""

GRANTED = b"\x20"
SECOND = b"\x22"
"""The network token is granted beside a primary subtask, to which this one yields."""
PROMOTED = b"\x23"
"""The primary subtask has ended: a SECOND one is primary from now on. Its holder may not read it
before its next request."""
PONG = b"\x21"
