"""The folder of a server's state, and the token in it: closed to other users of the machine."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from motet.domain.errors import BadInput, MotetError
from motet.interfaces.server_address import LOCK_FILE, TOKEN_FILE
from motet.live.journal.private_file import locked_file
from motet.transport.secret_file import require_private_file

_TOKEN_BYTES = 32
_SHORTEST_TOKEN = 32


class FolderInUse(MotetError):
    """Another server has the folder of the state."""


def open_state_folder(folder: Path) -> None:
    """Create the folder, or check that it is this user's alone. Raises BadInput."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise BadInput(
            f"--state-dir {folder}: cannot be used ({error.strerror}); give another folder"
        ) from error
    if found.st_uid != os.geteuid():
        raise BadInput(f"--state-dir {folder}: belongs to another user; give another folder")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadInput(
            f"--state-dir {folder}: other users may have put files there; give another folder"
        )
    if found.st_mode & 0o077:
        raise BadInput(
            f"--state-dir {folder}: other users can read the journal of jobs; chmod 700 {folder}"
        )


@contextmanager
def locked_state_folder(folder: Path) -> Iterator[None]:
    """Meanwhile no other server and no restore uses the folder, whichever journals they have.

    Raises FolderInUse if one does, BadInput if the file system has no locks.
    """
    try:
        lock = locked_file(folder / LOCK_FILE)
    except OSError as error:
        raise BadInput(f"--state-dir {folder}: {error.strerror}; give another folder") from error
    if lock is None:
        raise FolderInUse(
            f"--state-dir {folder}: another motet server uses this folder; stop it, or give another"
        )
    try:
        yield
    finally:
        os.close(lock)


def server_token(folder: Path) -> str:
    """The token of the server whose state is in `folder`; a new one is created.

    Raises BadInput for a token that other users can read, or that is damaged.
    """
    path = folder / TOKEN_FILE
    if not path.exists():
        _write_token(path)
    require_private_file(path, "the server's token", ", with which they can run code as you", "")
    token = path.read_text(encoding="ascii", errors="replace").strip()
    if len(token) < _SHORTEST_TOKEN or not (token.isascii() and token.isprintable()):
        raise BadInput(f"{path}: not a token of Motet; delete it, and a new one is created")
    return token


def _write_token(path: Path) -> None:
    """A complete token or none, so that a crash or a full disk leaves no empty one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # Another server has been started at the same time.
            os.link(temporary, path)
    finally:
        temporary.unlink()
