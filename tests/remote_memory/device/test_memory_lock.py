"""A device that cannot stay in memory is no swap space; the kernel's limits are real ones."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from swap_host import needs_root_and

_LOCK = "from motet.remote_memory.device.memory_lock import stay_in_memory; stay_in_memory"


@pytest.mark.parametrize(("is_swap", "refused"), [(True, True), (False, False)])
def test_memory_that_cannot_be_locked_refuses_swap_space_alone(
    is_swap: bool, refused: bool
) -> None:
    needs_root_and()
    for program in ("prlimit", "setpriv"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (Debian: apt-get install util-linux)")
    without_lock = ("prlimit", "--memlock=0:0", "setpriv", "--bounding-set", "-ipc_lock")
    code = f"{_LOCK}(is_swap={is_swap})"
    done = subprocess.run(
        [*without_lock, sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "the device's memory cannot be locked: " in done.stderr
    assert ("It needs root with CAP_IPC_LOCK" in done.stderr) == refused
    assert (done.returncode != 0) == refused
