"""Ray's token: who has it can run code on a Ray cluster as the user who started it.

Ray writes a token that it generates to ~/.ray/auth_token, where other users of the machine can read
it. So an embedded cluster gets a token of its own for every run, in a file that only its owner can
read, and the token of a cluster that is joined is refused if its file is readable by others.
"""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import os
import secrets
import shutil
import tempfile
from pathlib import Path

from motet.runtime.backends.ray.ray_internals import reload_authentication
from motet.transport.secret_file import require_private_file

_MODE, _TOKEN, _PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_FOLDER = "RAY_TMPDIR"
_OTHERS = 0o077
_TOKEN_BYTES = 32


class PrivateToken:
    """A fresh token for a cluster that this process starts; its Ray processes inherit the path.

    Where the folder for temporary files is shared with other users, Ray's sockets and logs are in a
    private folder, too: another user could have made /tmp/ray before.
    """

    def __init__(self) -> None:
        self._before = {name: os.environ.get(name) for name in (_MODE, _TOKEN, _PATH, _FOLDER)}
        shared = Path(tempfile.gettempdir())
        self._folder = Path(tempfile.mkdtemp(prefix="ray-", dir=shared))
        path = self._folder / "token"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_TOKEN_BYTES))
        os.environ.pop(_TOKEN, None)
        os.environ |= {_MODE: "token", _PATH: str(path)}
        if shared.stat().st_mode & _OTHERS:
            os.environ[_FOLDER] = str(self._folder)
        reload_authentication()

    def discard(self) -> None:
        """Remove the file and restore the environment. A second call does nothing."""
        before, self._before = self._before, {}
        shutil.rmtree(self._folder, ignore_errors=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        reload_authentication()


def require_private_token() -> None:
    """Raises BadInput if other users can read the token for a cluster that is to be joined."""
    if os.environ.get(_TOKEN) or os.environ.get(_MODE) != "token":
        return
    path = Path(os.environ.get(_PATH) or Path.home() / ".ray" / "auth_token")
    require_private_file(
        path,
        "Ray's token",
        ", with which they can run code as you",
        ", and restart the cluster with a new token if this machine has other users",
    )
