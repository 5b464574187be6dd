"""A job that proves that it runs once: a program for the kill checker.

    python counting_job.py STEPS

Every rank locks a file in its checkpoint folder, counts steps in another, and continues from there
after a restart. A second process of the same rank finds the lock taken and leaves a file `double`.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

STEP_S = 0.02


def main() -> None:
    """Count to the end, from where the last attempt was stopped."""
    folder, rank = Path(os.environ["MOTET_CHECKPOINT_DIR"]), os.environ["RANK"]
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"lock-{rank}", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            (folder / f"double-{rank}").write_text(os.environ["MOTET_ATTEMPT"])
            sys.exit(77)
        count = folder / f"count-{rank}"
        done = int(count.read_text()) if count.exists() else 0
        for step in range(done, int(sys.argv[1])):
            temporary = folder / f"count-{rank}.new"
            temporary.write_text(str(step + 1))
            temporary.replace(count)
            time.sleep(STEP_S)


if __name__ == "__main__":
    main()
