from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from motet.remote_memory.device.role_lock import (
    await_end_of_role,
    claim_role,
    holder_of_role,
)

_HOLDER = """
import sys
from pathlib import Path
from motet.remote_memory.device.role_lock import claim_role
lock = claim_role(Path(sys.argv[1]))
print(lock is not None, flush=True)
sys.stdin.read()
"""


def test_one_has_the_role_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert holder_of_role(path) is None
    assert not path.exists()
    lock = claim_role(path)
    assert lock is not None
    assert claim_role(path) is None
    assert holder_of_role(path) == os.getpid()  # Also after another file of it was closed.
    lock.close()
    assert holder_of_role(path) is None
    await_end_of_role(path)


def test_a_role_ends_with_the_process_that_has_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert holder_of_role(path) == holder.pid
        assert claim_role(path) is None
        holder.kill()
        await_end_of_role(path)
    assert holder_of_role(path) is None


def test_the_number_of_an_earlier_holder_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command would kill a process that has this number by now."""
    path, told = tmp_path / "lock", list[int | None]()
    path.write_text("4711\n", encoding="ascii")
    lock_file = fcntl.fcntl

    def look_and_lock(*arguments: object) -> object:
        found = lock_file(*arguments)  # type: ignore[arg-type]
        with monkeypatch.context() as undone:
            undone.setattr(fcntl, "fcntl", lock_file)
            told.append(holder_of_role(path))
        return found

    monkeypatch.setattr(fcntl, "fcntl", look_and_lock)
    lock = claim_role(path)
    assert lock is not None
    assert told == [0, os.getpid()]  # After the lock of each byte.
    lock.close()


def test_who_waits_for_the_end_of_a_role_never_refuses_who_claims_it(tmp_path: Path) -> None:
    path, is_over = tmp_path / "lock", threading.Event()

    def wait() -> None:
        while not is_over.is_set():
            await_end_of_role(path)

    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(wait) for _ in range(2)]
        try:
            for _ in range(500):
                lock = claim_role(path)
                assert lock is not None
                lock.close()
        finally:
            is_over.set()
        for each in waiting:
            each.result()
