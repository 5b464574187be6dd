"""A job that borrows: checks an array and writes another content, until it is told to end.

Arguments: a folder, where it writes `rounds` and looks for `end`; the size in bytes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import motet

ROW_BYTES = 1 << 16


def main() -> None:
    folder, size = Path(sys.argv[1]), int(sys.argv[2])
    count = size // ROW_BYTES
    with motet.RemoteBuffer((count, ROW_BYTES), "uint8", memory=4 * ROW_BYTES) as rows:
        done = 0
        while not (folder / "end").exists():
            for row in range(count):
                assert (rows[row] == _value(row, done)).all(), (row, done)
                rows[row] = _value(row, done + 1)
            done += 1
            (folder / "rounds.new").write_text(f"{done} {rows.statistics['remote_pages']}")
            (folder / "rounds.new").replace(folder / "rounds")
            time.sleep(0.02)  # Other processes of the test need the processor, too.


def _value(row: int, round_number: int) -> int:
    """Of every byte of a row; 0 at first."""
    return (row + round_number) % 251 if round_number else 0


if __name__ == "__main__":
    main()
