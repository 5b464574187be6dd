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
import subprocess
import sys
from collections.abc import Callable, Iterator
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
            asked = {"policy": policy, "settings": dict(chosen.settings), "parent": os.getpid()}
            done = subprocess.run(
                _COMMAND, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=False
            )
            if done.returncode:
                fields = {"policy": policy, "status": done.returncode, "error": done.stdout}
                _LOG.warning("kernels_not_compiled", extra={"fields": fields})
                return
            marker.write_text(stamp)


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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
