"""A compressed trace that expands without end is refused in bounded memory."""

from __future__ import annotations

import gzip

import pytest

from memory_limit import run_in_little_memory
from motet.domain.bounded_reading.decompression import VARIABLE

READ = """
import sys
from pathlib import Path
from motet.domain.errors import BadInput
from motet.sim.traces.source import Source
try:
    Source.open(Path(sys.argv[1]))
except BadInput as error:
    print(error)
"""


@pytest.mark.soak
def test_a_bomb_is_refused_in_bounded_memory(tmp_path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(400):
            file.write(b"\0" * (1 << 20))
    done = run_in_little_memory(READ, path)
    assert done.stderr == ""
    assert done.stdout.startswith(f"{path}: expands to more than ")
    assert VARIABLE in done.stdout
