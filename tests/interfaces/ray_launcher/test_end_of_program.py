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


_BLOCKED_LOOKUP = """
import sys
from motet.interfaces.ray_nodes import node_process

node_process.remedy_of_ended_head = lambda *_: open(sys.argv.pop()).read()
from motet.interfaces.ray_launcher.__main__ import run_ray_launcher

run_ray_launcher()
"""


def test_it_ends_with_its_input_while_the_host_of_the_head_is_looked_up(tmp_path: Path) -> None:
    """A name server that does not answer is a pipe that nobody writes to."""
    pipe, nothing_listens = tmp_path / "pipe", "127.0.0.1:1"
    os.mkfifo(pipe)
    arguments = [nothing_listens, str(tmp_path), "10", "1", str(pipe)]
    with (
        subprocess.Popen(
            [sys.executable, "-c", _BLOCKED_LOOKUP, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        ) as program,
        pipe.open("w"),
    ):  # It is opened when the lookup has begun.
        assert program.stdin is not None
        program.stdin.close()
        try:
            assert program.wait(60) == 0
        finally:
            program.kill()
