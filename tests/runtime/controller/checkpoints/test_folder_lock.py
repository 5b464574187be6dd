"""One run at a time writes to a folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.runtime.controller.checkpoints.folder_lock import LOCK, locked_folder

HOLDER = """
import sys
from pathlib import Path
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def refusal_of(path: Path) -> str:
    with pytest.raises(BadInput) as raised, locked_folder(path):
        pass
    return str(raised.value)


def test_a_second_run_is_refused_and_told_the_process(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with locked_folder(run):
        assert refusal_of(run) == (
            f"{run}: another run writes there (process {os.getpid()}); wait until it has ended, or "
            "name another folder"
        )
    with locked_folder(run):
        pass
    assert list(run.iterdir()) == []


def test_other_folders_are_free(tmp_path: Path) -> None:
    with locked_folder(tmp_path), locked_folder(tmp_path / "inside"):
        assert "another run" in refusal_of(tmp_path)
        assert "another run" in refusal_of(tmp_path / "inside")


def test_the_lock_ends_with_an_error_and_with_its_process(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked_folder(tmp_path):
        raise RuntimeError
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert f"(process {holder.pid})" in refusal_of(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (tmp_path / LOCK).exists()
    with locked_folder(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file: cannot write there" in refusal_of(tmp_path / "file")
