"""Processes as the kernel lists them: real ones, of any name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live import process_table
from motet.live.process_table import (
    boot_id,
    descendants,
    start_ticks,
    stat_fields,
)

_NOBODY = 2**22
"""A process id above the largest that Linux gives (proc(5), pid_max)."""
_NAME = b"a) b (c"


@pytest.fixture
def line() -> Iterator[subprocess.Popen[str]]:
    """A process with a child, which has one too; the first writes the ids of these two."""
    code = 'sh -c "sleep 1000 & echo \\$\\$ \\$!; wait" & wait'
    with subprocess.Popen(["sh", "-c", code], stdout=subprocess.PIPE, text=True) as process:
        yield process
        for each in [*descendants(process.pid), process.pid]:
            os.kill(each, 9)


def test_descendants_come_after_their_parents(line: subprocess.Popen[str]) -> None:
    assert line.stdout is not None
    child, grandchild = map(int, line.stdout.readline().split())
    assert descendants(line.pid) == [child, grandchild]
    assert descendants(grandchild) == []


def test_the_name_of_a_process_may_contain_anything() -> None:
    """Fields are counted after its name, which is in brackets and may contain some."""
    code = "import sys; open('/proc/self/comm', 'wb').write(sys.argv[1].encode()); print(); input()"
    command = [sys.executable, "-c", code, _NAME]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert Path(f"/proc/{process.pid}/comm").read_bytes() == _NAME + b"\n"
        fields = stat_fields(str(process.pid))
        assert fields is not None
        assert int(fields[1]) == os.getpid()
        assert start_ticks(process.pid) == int(fields[19])
        process.kill()


def test_there_is_no_such_process() -> None:
    assert stat_fields(str(_NOBODY)) is None
    assert start_ticks(_NOBODY) is None
    assert descendants(_NOBODY) == []


def test_children_are_known_until_they_are_collected() -> None:
    """In a process of its own: that of the tests has other children."""
    code = (
        "import os, sys; sys.path.append(sys.argv[1])\n"
        "from motet.live.process_table import ended_child, has_children\n"
        "print(has_children(), ended_child())\n"
        "ready, go = os.pipe()\n"
        "child = os.fork()\n"
        "if not child: os.close(go); os.read(ready, 1); os._exit(0)\n"
        "print(has_children(), ended_child())\n"
        "os.close(go)\n"
        "os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\n"
        "print(has_children(), ended_child() == child)\n"
        "os.waitpid(child, 0)\n"
        "print(has_children(), ended_child())\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code, _packages()]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["False None", "True None", "True True", "False None"]


def test_it_imports_nothing_but_the_operating_systems_module() -> None:
    """The supervisor of every command and the spawner of shepherds import it first."""
    code = (
        "import sys; sys.path.append(sys.argv[1]); import os, motet.live; before = {*sys.modules}\n"
        "import motet.live.process_table; print(*sorted({*sys.modules} - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, _packages()]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert found == ["motet.live.process_table"]


def test_this_machine_has_been_booted_once() -> None:
    assert boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _packages() -> str:
    return str(Path(process_table.__file__).parents[2])
