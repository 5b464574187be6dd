"""The handshake: client and server prove to each other that they have the job's secret.

    client                                      server
      hello: magic, nonce, mode, session, client ──▶
                                            ◀── magic, nonce, HMAC(secret, "server" + all so far)
      HMAC(secret, "client" + all so far)   ──▶
                                            ◀── one byte: accepted or refused

HMAC-SHA256, compared in constant time. The roles in the proofs prevent the reflection of one proof
as the other. Every message has a fixed size and there is a deadline, so an unauthenticated peer
cannot cause an allocation or block a thread.

The mode says whether the bytes that follow are encrypted (`sealing`). They are unless both ends see
that they do not leave the host; the proofs cover the mode, so a relay cannot change it.
"""

from __future__ import annotations

import hmac
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from motet.domain.errors import AuthenticationFailed
from motet.transport.channel import Channel, DeadlinePassed
from motet.transport.sealing import SessionKeys

SESSION_BYTES = 16
MAX_CLIENT_ID_BYTES = 64
_MAGIC = b"MOTET\x00\x00\x02"
_NONCE_BYTES = 32
_PROOF_BYTES = sha256().digest_size
_HELLO = struct.Struct(f"<8s{_NONCE_BYTES}sB{SESSION_BYTES}sB{MAX_CLIENT_ID_BYTES}s")
_CHALLENGE = struct.Struct(f"<8s{_NONCE_BYTES}s{_PROOF_BYTES}s")
_ACCEPTED = b"\x01"
_REFUSED = b"\x00"
_PLAIN, _SEALED = 0, 1


SecretOf: TypeAlias = "bytes | Callable[[str], bytes]"
"""The secret of every client, or how to find that of the client with a name.

A client that proves a secret is one of those with that secret, so its name can be trusted. For an
unknown name, return a fresh secret: the proof then fails like any other.
"""


@dataclass(frozen=True)
class Identity:
    """A client's name and one of its sessions; a session continues after reconnections."""

    client_id: str
    session: bytes


def prove_client(
    channel: Channel, secret: bytes, identity: Identity, deadline_s: float
) -> SessionKeys | None:
    """Run the client's half. `deadline_s`: on the monotonic clock.

    Returns the keys for what follows; None: it is not encrypted. Raises AuthenticationFailed if the
    secrets differ, OSError (TimeoutError) if the peer is silent.
    """
    name = identity.client_id.encode()
    mode = _SEALED if channel.is_exposed else _PLAIN
    client_nonce = os.urandom(_NONCE_BYTES)
    hello = _HELLO.pack(_MAGIC, client_nonce, mode, identity.session, len(name), name)
    channel.send([hello])
    challenge = _receive(channel, _CHALLENGE.size, deadline_s)
    magic, nonce, proof = _CHALLENGE.unpack(challenge)
    if magic != _MAGIC:
        raise AuthenticationFailed("the peer does not speak this version of Motet's protocol")
    if not hmac.compare_digest(proof, _digest(secret, b"server", hello, nonce)):
        raise AuthenticationFailed("the server does not have this job's secret")
    channel.send([_digest(secret, b"client", hello, nonce)])
    if _receive(channel, 1, deadline_s) != _ACCEPTED:
        raise AuthenticationFailed("the server refused this job's secret")
    return _keys(secret, hello, nonce) if mode == _SEALED else None


def verify_client(
    channel: Channel, secret_of: SecretOf, deadline_s: float
) -> tuple[Identity, SessionKeys | None]:
    """Run the server's half, up to `accept_client`; returns the client and the keys as above.

    Raises AuthenticationFailed, or OSError if the peer disconnects or misses the deadline.
    """
    hello = _receive(channel, _HELLO.size, deadline_s)
    magic, _, mode, session, name_bytes, name = _HELLO.unpack(hello)
    if magic != _MAGIC or name_bytes > MAX_CLIENT_ID_BYTES or mode not in (_PLAIN, _SEALED):
        raise AuthenticationFailed("the peer does not speak this version of Motet's protocol")
    client_id = name[:name_bytes].decode(errors="replace")
    secret = secret_of if isinstance(secret_of, bytes) else secret_of(client_id)
    nonce = os.urandom(_NONCE_BYTES)
    channel.send([_CHALLENGE.pack(_MAGIC, nonce, _digest(secret, b"server", hello, nonce))])
    proof = _receive(channel, _PROOF_BYTES, deadline_s)
    if not hmac.compare_digest(proof, _digest(secret, b"client", hello, nonce)):
        channel.send([_REFUSED])
        raise AuthenticationFailed("the client does not have this job's secret")
    if mode == _PLAIN and channel.is_exposed:
        channel.send([_REFUSED])
        raise AuthenticationFailed("a client of another host does not encrypt")
    keys = _keys(secret, hello, nonce) if mode == _SEALED else None
    return Identity(client_id, session), keys


def accept_client(channel: Channel) -> None:
    """Conclude the handshake: the server now reads requests from this client."""
    channel.send([_ACCEPTED])


def _digest(secret: bytes, label: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, label + hello + nonce, "sha256")


def _keys(secret: bytes, hello: bytes, nonce: bytes) -> SessionKeys:
    """Both ends have the same after the handshake; both nonces are fresh."""
    labels = (b"key to server", b"key to client")
    return SessionKeys(*(_digest(secret, label, hello, nonce) for label in labels))


def _receive(channel: Channel, size: int, deadline_s: float) -> bytes:
    """Receive exactly `size` bytes: what follows belongs to the frames."""
    received = bytearray(size)
    missing = memoryview(received)
    channel.deadline_s = deadline_s
    try:
        while missing:
            if time.monotonic() >= deadline_s:
                raise DeadlinePassed
            missing = missing[channel.receive_all([missing]) :]
    except DeadlinePassed:
        raise TimeoutError("the peer did not complete the handshake in time") from None
    finally:
        channel.deadline_s = None
    return bytes(received)
