"""Both ends of a connection prove that they know the job's secret before anything else is said.

    client                                   server
      hello: magic, nonce, link, client  ──▶
                                         ◀── magic, nonce, HMAC(secret, "server" + all so far)
      HMAC(secret, "client" + all so far)──▶
                                         ◀── one byte: welcome or not

HMAC-SHA256, compared in constant time. The roles in the proofs keep one from being reflected as
the other. Every message has a fixed size, so a stranger can make nobody allocate or wait: the
socket's deadline is the caller's.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
import struct
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from motet.domain.errors import AuthenticationFailed, BadInput

SECRET_BYTES = 32
LINK_BYTES = 16
MAX_CLIENT_ID_BYTES = 64
_MAGIC = b"MOTET\x00\x00\x01"
_NONCE_BYTES = 32
_PROOF_BYTES = sha256().digest_size
_HELLO = struct.Struct(f"<8s{_NONCE_BYTES}s{LINK_BYTES}sB{MAX_CLIENT_ID_BYTES}s")
_CHALLENGE = struct.Struct(f"<8s{_NONCE_BYTES}s{_PROOF_BYTES}s")
_WELCOME = b"\x01"
_REFUSED = b"\x00"


@dataclass(frozen=True)
class Identity:
    """Who a client is: its name, and which of its links this is (kept over reconnections)."""

    client_id: str
    link: bytes


def new_secret() -> bytes:
    """A fresh secret for one job."""
    return secrets.token_bytes(SECRET_BYTES)


def write_secret(path: Path, secret: bytes) -> None:
    """Write a secret to a new file that only its owner can read.

    Raises BadInput if the file is there already or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BadInput(f"{path}: cannot write the secret: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secret.hex() + "\n")


def read_secret(path: Path) -> bytes:
    """The secret in a file. Raises BadInput if others could read it or if it is malformed."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text(encoding="ascii")
        secret = bytes.fromhex(text.strip())
    except OSError as error:
        raise BadInput(f"{path}: cannot read the secret: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: not a secret; expected {2 * SECRET_BYTES} hex digits") from error
    if mode & 0o077:
        raise BadInput(f"{path}: mode {mode:04o} lets others read the secret; chmod 600 {path}")
    if len(secret) != SECRET_BYTES:
        raise BadInput(f"{path}: {len(secret)} bytes of secret, expected {SECRET_BYTES}")
    return secret


def prove_client(sock: socket.socket, secret: bytes, identity: Identity, deadline_s: float) -> None:
    """The client's half. `deadline_s`: on the monotonic clock.

    Raises AuthenticationFailed if the secrets differ, OSError (TimeoutError) if the peer is silent.
    """
    name = identity.client_id.encode()
    hello = _HELLO.pack(_MAGIC, os.urandom(_NONCE_BYTES), identity.link, len(name), name)
    sock.sendall(hello)
    challenge = _receive(sock, _CHALLENGE.size, deadline_s)
    magic, nonce, proof = _CHALLENGE.unpack(challenge)
    if magic != _MAGIC:
        raise AuthenticationFailed("whoever listens there does not speak Motet's protocol")
    if not hmac.compare_digest(proof, _proof(secret, b"server", hello, nonce)):
        raise AuthenticationFailed("the server does not know this job's secret")
    sock.sendall(_proof(secret, b"client", hello, nonce))
    if _receive(sock, 1, deadline_s) != _WELCOME:
        raise AuthenticationFailed("the server refused this job's secret")


def verify_client(sock: socket.socket, secret: bytes, deadline_s: float) -> Identity:
    """The server's half; the caller sends `welcome` when it is ready to serve.

    Raises AuthenticationFailed, or OSError if the peer leaves or is silent until the deadline.
    """
    hello = _receive(sock, _HELLO.size, deadline_s)
    magic, _, link, name_bytes, name = _HELLO.unpack(hello)
    if magic != _MAGIC or name_bytes > MAX_CLIENT_ID_BYTES:
        raise AuthenticationFailed("a stranger called who does not speak Motet's protocol")
    nonce = os.urandom(_NONCE_BYTES)
    sock.sendall(_CHALLENGE.pack(_MAGIC, nonce, _proof(secret, b"server", hello, nonce)))
    proof = _receive(sock, _PROOF_BYTES, deadline_s)
    if not hmac.compare_digest(proof, _proof(secret, b"client", hello, nonce)):
        sock.sendall(_REFUSED)
        raise AuthenticationFailed("a client called that does not know this job's secret")
    return Identity(name[:name_bytes].decode(errors="replace"), link)


def welcome(sock: socket.socket) -> None:
    """Tell an authenticated client that it is served from now on."""
    sock.sendall(_WELCOME)


def _proof(secret: bytes, role: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, role + hello + nonce, "sha256")


def _receive(sock: socket.socket, size: int, deadline_s: float) -> bytes:
    received = b""
    while len(received) < size:
        remaining_s = deadline_s - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError("the peer stayed silent during the handshake")
        sock.settimeout(remaining_s)
        chunk = sock.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError("the peer closed the connection during the handshake")
        received += chunk
    return received
