from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from motet.remote_memory.device.role_lock import await_lock, is_role_held, try_lock

_HOLDER = """
import sys
from pathlib import Path
from motet.remote_memory.device.role_lock import try_lock
lock = try_lock(Path(sys.argv[1]))
print(lock is not None, flush=True)
sys.stdin.read()
"""


def test_one_holds_the_lock_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_role_held(path)
    assert not path.exists()
    lock = try_lock(path)
    assert lock is not None
    assert try_lock(path) is None
    assert is_role_held(path)  # Also after another file of this process was closed.
    lock.close()
    assert not is_role_held(path)
    await_lock(path)


def test_a_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert is_role_held(path)
        assert try_lock(path) is None
        holder.kill()
        await_lock(path)
    assert not is_role_held(path)
