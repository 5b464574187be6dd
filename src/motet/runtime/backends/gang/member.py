"""A member of the gang: keeps one executor process, and starts the next one when that has ended.

This module and what it imports need the standard library only, so that a member takes little
memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from motet.runtime.blas_threads import ONE_BLAS_THREAD

ENDED, CONTROLLER_LOST, DISMISSED = 0, os.EX_TEMPFAIL, 79
"""Exit statuses of an executor process: the gang has ended; the controller has gone without saying
so; the controller has no use for this process, but may have for the next one."""
OVER, ANNOUNCED = "over", "controller.json"
"""Files that appear in the folder of the gang: when it has ended, and when it has a controller."""

_MODULE = "motet.runtime.backends.gang.executor_process"


def has_controller(folder: Path) -> bool:
    """Whether the gang that meets in `folder` has, or had, a controller."""
    return (folder / ANNOUNCED).exists()


def run_member(
    folder: Path,
    number: int,
    host: str = "127.0.0.1",
    arbiter: Path | None = None,
    job: str = "",
) -> int:
    """Serve the gang that meets in `folder` as machine `number`, until it has ended.

    `host`: the address at which the other members reach this one. `arbiter`: the address of that of
    this machine, which executors of other jobs than `job` share; None: subtasks wait for no other
    job.

    Returns ENDED, CONTROLLER_LOST, or the status of an executor process that could not join.
    Executors are in a session of their own: a signal to the member's group does not reach them.
    They end with the thread that calls this function.
    """
    status, command = ENDED, (sys.executable, "-P", "-m", _MODULE)
    sharing = () if arbiter is None else (str(arbiter), job)
    while not (folder / OVER).exists():
        if status > 0 and status != DISMISSED:
            return status
        executor = subprocess.Popen(
            [*command, str(folder), str(number), str(os.getpid()), host, *sharing],
            stdin=subprocess.DEVNULL,
            env=os.environ | ONE_BLAS_THREAD,
            start_new_session=True,
        )
        status = executor.wait()
    return ENDED
