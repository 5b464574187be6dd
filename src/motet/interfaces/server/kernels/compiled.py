"""Whether the kernels of a policy are compiled, and the process that compiles them.

numba keeps compiled code on disk, in NUMBA_CACHE_DIR or beside the source. A file in the same place
names the source for which all kernels of a policy were compiled.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

import motet
from motet.live.master.intake import ChoosePolicy

_LOG = logging.getLogger("motet.server")
_COMMAND = (sys.executable, "-P", "-m", "motet.interfaces.server.kernels")
_PACKAGES = ("allocation", "domain", "engine", "estimate", "live/master", "placement", "policies")
_HOME = Path(motet.__file__).parent


class Kernels:
    """Compiles the kernels of policies before these are put in force."""

    def __init__(self, tell: Callable[[str], None] = lambda policy: None) -> None:
        """`tell`: is called with the policy when something has to be compiled, which takes time."""
        self._tell = tell
        self._lock = threading.Lock()
        self._compiling: set[subprocess.Popen[str]] = set()
        self.is_closed = False

    def close(self) -> None:
        """End what is being compiled; nothing is compiled any more."""
        with self._lock:
            self.is_closed = True
            for process in self._compiling:
                process.kill()

    def prepare(self, chosen: ChoosePolicy) -> None:
        """Return when the kernels of a policy are on disk: at once, unless the installation is new.

        They are compiled in another process: the compiler lets no other thread run. A policy that
        fails there is put in force, or refused, as without this; a warning is logged. Nothing is
        compiled for a file that is missing.
        """
        policy = chosen.policy
        if policy.endswith(".py") and not Path(policy).is_file():
            return
        with _locked(_marker_of(policy)) as marker:
            stamp = _stamp(policy)
            if marker.read_text() == stamp:
                return
            self._tell(policy)
            with _own_folder(marker) as folder:
                status, error = self._compile(policy, dict(chosen.settings), folder)
            if self.is_closed:
                return
            if status:
                fields = {"policy": policy, "status": status, "error": error}
                _LOG.warning("kernels_not_compiled", extra={"fields": fields})
                return
            marker.write_text(stamp)

    def _compile(self, policy: str, settings: Mapping[str, str], folder: Path) -> tuple[int, str]:
        """The exit status of the process that compiles with its files in `folder`, and its
        message."""
        asked = {"policy": policy, "settings": settings, "parent": os.getpid()}
        with self._lock:
            if self.is_closed:
                return 0, ""
            process = subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TMPDIR": str(folder)},
                start_new_session=True,  # Ctrl-C is for the server, which ends it.
            )
            self._compiling.add(process)
        message, _ = process.communicate(json.dumps(asked))
        with self._lock:
            self._compiling.remove(process)
        return process.returncode, message


@contextmanager
def _locked(path: Path) -> Iterator[Path]:
    """The file, which exists, for one process at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        flock(file, LOCK_EX)
        yield path


def _marker_of(policy: str) -> Path:
    """Where numba keeps compiled code: its folder, the source's, or that of the user."""
    name = f"motet-kernels-{_digest(policy)}"
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given) / name
    beside = _HOME / "engine" / "__pycache__"
    if os.access(beside if beside.exists() else beside.parent, os.W_OK):
        return beside / name
    return user_cache_path("motet") / name


def _stamp(policy: str) -> str:
    """Of everything for which numba compiles anew."""
    sources = sorted(path for each in _PACKAGES for path in (_HOME / each).rglob("*.py"))
    if policy.endswith(".py"):
        sources.append(Path(policy))
    files = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in sources]
    host = platform.node(), platform.machine(), platform.python_version(), version("numba")
    return _digest(repr((files, host)))


@contextmanager
def _own_folder(marker: Path) -> Iterator[Path]:
    """For files of the process that compiles. The next one removes what a killed server left."""
    folder = marker.with_suffix(".files")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
