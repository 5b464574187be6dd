"""The handshake: client and server prove to each other that they have the job's secret.

    client                                      server
      hello: magic, nonce, session, client  ──▶
                                            ◀── magic, nonce, HMAC(secret, "server" + all so far)
      HMAC(secret, "client" + all so far)   ──▶
                                            ◀── one byte: accepted or refused

HMAC-SHA256, compared in constant time. The roles in the proofs prevent the reflection of one proof
as the other. Every message has a fixed size and there is a deadline, so an unauthenticated peer
cannot cause an allocation or block a thread.
"""

from __future__ import annotations

import hmac
import os
import struct
import time
from dataclasses import dataclass
from hashlib import sha256

from motet.domain.errors import AuthenticationFailed
from motet.transport.channel import Channel, DeadlinePassed

SESSION_BYTES = 16
MAX_CLIENT_ID_BYTES = 64
_MAGIC = b"MOTET\x00\x00\x01"
_NONCE_BYTES = 32
_PROOF_BYTES = sha256().digest_size
_HELLO = struct.Struct(f"<8s{_NONCE_BYTES}s{SESSION_BYTES}sB{MAX_CLIENT_ID_BYTES}s")
_CHALLENGE = struct.Struct(f"<8s{_NONCE_BYTES}s{_PROOF_BYTES}s")
_ACCEPTED = b"\x01"
_REFUSED = b"\x00"


@dataclass(frozen=True)
class Identity:
    """A client's name and one of its sessions; a session continues after reconnections."""

    client_id: str
    session: bytes


def prove_client(channel: Channel, secret: bytes, identity: Identity, deadline_s: float) -> None:
    """Run the client's half. `deadline_s`: on the monotonic clock.

    Raises AuthenticationFailed if the secrets differ, OSError (TimeoutError) if the peer is silent.
    """
    name = identity.client_id.encode()
    hello = _HELLO.pack(_MAGIC, os.urandom(_NONCE_BYTES), identity.session, len(name), name)
    channel.send([hello])
    challenge = _receive(channel, _CHALLENGE.size, deadline_s)
    magic, nonce, proof = _CHALLENGE.unpack(challenge)
    if magic != _MAGIC:
        raise AuthenticationFailed("the peer does not speak Motet's protocol")
    if not hmac.compare_digest(proof, _proof(secret, b"server", hello, nonce)):
        raise AuthenticationFailed("the server does not have this job's secret")
    channel.send([_proof(secret, b"client", hello, nonce)])
    if _receive(channel, 1, deadline_s) != _ACCEPTED:
        raise AuthenticationFailed("the server refused this job's secret")


def verify_client(channel: Channel, secret: bytes, deadline_s: float) -> Identity:
    """Run the server's half, up to `accept_client`.

    Raises AuthenticationFailed, or OSError if the peer disconnects or misses the deadline.
    """
    hello = _receive(channel, _HELLO.size, deadline_s)
    magic, _, session, name_bytes, name = _HELLO.unpack(hello)
    if magic != _MAGIC or name_bytes > MAX_CLIENT_ID_BYTES:
        raise AuthenticationFailed("the peer does not speak Motet's protocol")
    nonce = os.urandom(_NONCE_BYTES)
    channel.send([_CHALLENGE.pack(_MAGIC, nonce, _proof(secret, b"server", hello, nonce))])
    proof = _receive(channel, _PROOF_BYTES, deadline_s)
    if not hmac.compare_digest(proof, _proof(secret, b"client", hello, nonce)):
        channel.send([_REFUSED])
        raise AuthenticationFailed("the client does not have this job's secret")
    return Identity(name[:name_bytes].decode(errors="replace"), session)


def accept_client(channel: Channel) -> None:
    """Conclude the handshake: the server now reads requests from this client."""
    channel.send([_ACCEPTED])


def _proof(secret: bytes, role: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, role + hello + nonce, "sha256")


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
