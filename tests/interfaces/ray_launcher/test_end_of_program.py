"""How the program that connects the server with Ray ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PROGRAM = "motet.interfaces.ray_launcher"


def test_it_ends_without_a_traceback_when_nobody_reads_its_reports(tmp_path: Path) -> None:
    """Its input is still open: the server that was killed has not closed both pipes yet."""
    reader, writer = os.pipe()
    os.close(reader)
    nothing_listens, lease_s, epoch = "127.0.0.1:1", "10", "1"
    with subprocess.Popen(
        [sys.executable, "-m", PROGRAM, nothing_listens, str(tmp_path), lease_s, epoch],
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
    ) as program:
        os.close(writer)
        assert program.stderr is not None
        said = program.stderr.read()
        assert (program.wait(60), said) == (0, b"")
