"""Control processes that end while Ray starts, as real child processes of their names."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.runtime.backends.ray.start import started_ray
from motet.runtime.controller.ports import ClusterLost

SLEEP = "/bin/sleep"


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Ended and waited for at the end of the test."""
    begun: list[subprocess.Popen[bytes]] = []
    yield begun
    for process in begun:
        process.kill()
        process.wait()


def control_process(folder: Path, name: str) -> subprocess.Popen[bytes]:
    (folder / name).symlink_to(SLEEP)
    return subprocess.Popen([folder / name, "1000"])


@pytest.mark.parametrize(
    ("name", "told"), [("gcs_server", "Ray's GCS"), ("raylet", "the raylet of this node")]
)
def test_a_start_whose_control_process_is_killed_ends(
    processes: list[subprocess.Popen[bytes]], tmp_path: Path, name: str, told: str
) -> None:
    over = threading.Event()

    def start() -> None:
        processes.append(control_process(tmp_path, name))
        processes[0].kill()
        over.wait()

    with pytest.raises(ClusterLost, match=f"{told} ended while Ray was starting"):
        started_ray(start)
    over.set()


def test_processes_of_an_earlier_cluster_do_not_count(
    processes: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    processes.append(control_process(tmp_path, "gcs_server"))
    processes[0].kill()
    assert started_ray(lambda: 7) == 7


def test_an_error_of_the_start_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        started_ray(lambda: 1 / 0)
