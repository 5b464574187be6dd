"""fio on a network block device."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Transferred:
    """`bytes`: in all, of `bytes_s` per second."""

    bytes: int
    bytes_s: float


def transfer(
    uri: str, block: str, pattern: str, depth: int, seconds: float | None, size_bytes: int
) -> Transferred:
    """Requests of one client, so many at a time. `seconds`: None: all of the device, once."""
    length = () if seconds is None else ("--time_based", f"--runtime={seconds}")
    done = subprocess.run(
        [
            *("fio", "--name=x", "--ioengine=nbd", f"--uri={uri}", f"--rw={pattern}"),
            *(f"--bs={block}", f"--iodepth={depth}", f"--size={size_bytes}", *length),
            *("--output-format=json", "--randrepeat=1"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    side = job["read" if "read" in pattern else "write"]
    return Transferred(int(side["io_bytes"]), float(side["bw_bytes"]))
