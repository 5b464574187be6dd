"""The secret of one job, and the file that keeps it."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput

SECRET_BYTES = 32


def new_secret() -> bytes:
    """Return a fresh secret for one job."""
    return secrets.token_bytes(SECRET_BYTES)


def write_secret(path: Path, secret: bytes) -> None:
    """Write a secret to a new file that only its owner can read: all of it or, if the process is
    killed, none, so that others who find the file can use it.

    Raises BadInput if the file exists already or cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secret.hex() + "\n")
            os.link(temporary, path)
        finally:
            temporary.unlink()
    except OSError as error:
        raise BadInput(f"{path}: cannot write the secret: {error.strerror}") from error


def read_secret(path: Path) -> bytes:
    """Read a secret from its file.

    Raises BadInput if other users can read the file or if its content is malformed.
    """
    try:
        mode = _mode_of(path)
        text = regular_file(path).read_text(encoding="ascii")
        secret = bytes.fromhex(text.strip())
    except OSError as error:
        raise BadInput(f"{path}: cannot read the secret: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: not a secret; expected {2 * SECRET_BYTES} hex digits") from error
    _require_private(path, mode, "the secret")
    if len(secret) != SECRET_BYTES:
        raise BadInput(f"{path}: {len(secret)} bytes of secret, expected {SECRET_BYTES}")
    return secret


def require_private_file(path: Path, content: str, harm: str, remedy: str) -> None:
    """Raises BadInput if other users can read a file, or if it is not there.

    For the message: `content`: what the file holds; `harm`: what others can do with it; `remedy`:
    what to do besides changing the mode.
    """
    try:
        mode = _mode_of(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot read {content}: {error.strerror}") from error
    _require_private(path, mode, content + harm, remedy)


def _mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _require_private(path: Path, mode: int, content: str, remedy: str = "") -> None:
    if mode & 0o077:
        raise BadInput(
            f"{path}: mode {mode:04o} lets other users read {content}; chmod 600 {path}{remedy}"
        )
