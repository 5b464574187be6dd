"""What executors with the same memory tell each other of their input on disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from motet.runtime.spilling.share_board import ShareBoard

MEMORY = (3, 17)
Join = Callable[..., ShareBoard]

KILLED = """
import os, signal, sys
from pathlib import Path
from motet.runtime.spilling.share_board import ShareBoard
board = ShareBoard(Path(sys.argv[1]), (3, 17))
board.tell(100, 100)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Join]:
    made: list[ShareBoard] = []

    def join(input_bytes: int, disk_bytes: int, memory: tuple[int, int] = MEMORY) -> ShareBoard:
        made.append(ShareBoard(tmp_path, memory))
        made[-1].tell(input_bytes, disk_bytes)
        return made[-1]

    yield join
    for each in made:
        each.close()


def rows_in(folder: Path) -> list[Path]:
    return list(folder.glob("motet-spill-*/*"))


def test_an_executor_without_others_has_no_mean(join: Join) -> None:
    assert join(100, 50).mean_share() is None


def test_the_mean_is_that_of_all_input(join: Join) -> None:
    one, other = join(100, 50), join(300, 30)
    assert one.mean_share() == other.mean_share() == 0.2
    other.tell(300, 150)
    assert one.mean_share() == 0.5


def test_executors_with_another_memory_do_not_count(join: Join) -> None:
    one = join(100, 50)
    join(300, 300, memory=(3, 18))
    assert one.mean_share() is None


def test_an_executor_that_has_ended_does_not_count(join: Join, tmp_path: Path) -> None:
    one, other = join(100, 50), join(100, 0)
    other.close()
    assert one.mean_share() is None
    one.close()
    assert rows_in(tmp_path) == []


def test_an_executor_that_was_killed_does_not_count(join: Join, tmp_path: Path) -> None:
    one = join(100, 50)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(rows_in(tmp_path)) == 2
    assert one.mean_share() is None
    assert len(rows_in(tmp_path)) == 1


def test_input_of_no_bytes_has_no_mean(join: Join) -> None:
    join(0, 0)
    assert join(0, 0).mean_share() is None


def test_a_folder_that_cannot_be_used_costs_the_mean_alone(tmp_path: Path) -> None:
    (tmp_path / f"motet-spill-{os.getuid()}").write_text("a file")
    board = ShareBoard(tmp_path, MEMORY)
    board.tell(100, 50)
    assert board.mean_share() is None
    board.close()


def test_the_folder_is_the_users_alone(join: Join, tmp_path: Path) -> None:
    join(1, 1)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
