"""`python -m motet.interfaces.training_gang SPECIFICATION`: one process of a training.

The specification is that of the job, in JSON; the place in the gang is in the environment. A
process that is not the first one imports little: its executor is a process below it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from motet.interfaces.training_gang.own_host import arbiter_of_machine, own_host
from motet.runtime.backends.gang.member import CONTROLLER_LOST, has_controller, run_member

STOP_SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
"""All signals that a job file may name for preemption. The controller handles them for the gang."""


def run_process() -> int:
    """Returns the exit status."""
    folder, rank = Path(os.environ["MOTET_ATTEMPT_DIR"]) / "gang", int(os.environ["MOTET_RANK"])
    if rank == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        from motet.interfaces.training_gang.first_process import run_first_process

        return run_first_process(sys.argv[1], folder, STOP_SIGNALS)
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: _leave_without_controller(folder))
    arbiter, job = arbiter_of_machine(os.environ), os.environ["MOTET_JOB_ID"]
    return run_member(folder, rank, own_host(os.environ), arbiter, job)


def _leave_without_controller(folder: Path) -> None:
    """End at once if the first process has not announced itself: the signal may have ended it. A
    controller handles the signal for all."""
    if not has_controller(folder):
        os._exit(CONTROLLER_LOST)


if __name__ == "__main__":
    sys.exit(run_process())
