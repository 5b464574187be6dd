"""Programs of the host that set up block devices and swap space."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable

from motet.domain.errors import BadInput

_PACKAGES = {
    "losetup": "mount",
    "mkswap": "util-linux",
    "swapon": "mount",
    "swapoff": "mount",
    "nbd-client": "nbd-client",
}
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"


def found_program(name: str) -> str | None:
    """Its path, also if the folders for root are not searched."""
    return shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)


def require_root_and(names: Iterable[str]) -> None:
    """Raises BadInput."""
    if os.geteuid():
        raise BadInput(
            "swap space needs root: sudo motet memory device up --swap; without root, 'device up' "
            "prints the commands for root"
        )
    for name in names:
        if found_program(name) is None:
            raise BadInput(f"swap space needs {name} (Debian: apt-get install {_PACKAGES[name]})")


def run_program(name: str, *arguments: object) -> str:
    """What it prints. Raises BadInput: it failed, and what it says."""
    path = found_program(name)
    if path is None:
        raise BadInput(f"{name} is missing (Debian: apt-get install {_PACKAGES[name]})")
    words = [path, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise BadInput(f"{name} {' '.join(words[1:])}: {said[-1].removeprefix(f'{name}: ')}")
    return done.stdout.strip()
