"""A container of the balance measurement: a program whose data partly fit into its memory.

    python container_program.py MB SHARE SECRET_FILE BACKUP_DIR SECONDS [LENDER ...]

Prints a line when it has started, when its data are written, and its passes per second at the end;
it waits for a line before each of these steps.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import motet

COLUMNS, STEP_ROWS = 256, 2048
SLAB = 8 << 20


def main() -> None:
    """See the module."""
    megabytes, share, secret, backup, seconds, *lenders = sys.argv[1:]
    nbytes = int(megabytes) << 20
    _say("started")
    with motet.RemoteBuffer(
        (nbytes // COLUMNS // 4, COLUMNS),
        "float32",
        memory=nbytes * int(share) // 100 + (8 << 20 if share == "100" else 0),
        lenders=lenders,
        secret_file=secret,
        backup_dir=backup,
        slab=SLAB,
    ) as rows:
        for _ in range(3 if lenders and share != "100" else 1):
            for start in range(0, len(rows), STEP_ROWS):
                rows[start : start + STEP_ROWS] = np.float32(start)
            time.sleep(1.5 if share != "100" else 0.0)
        _say("filled")
        began_s = time.perf_counter()
        rng, done = np.random.default_rng(), 0
        while time.perf_counter() - began_s < float(seconds):
            start = int(rng.integers(len(rows) // STEP_ROWS)) * STEP_ROWS
            rows[start : start + STEP_ROWS].sum()
            done += 1
        _say(f"{done / (time.perf_counter() - began_s):.1f}")


def _say(text: str) -> None:
    print(text, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
