"""The process that follows the journal and predicts starts and ends, asked line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

_MODULE = "motet.interfaces.forecasts.follower"


class FollowerProcess:
    """It starts with the first question, and again if it has ended. One thread asks."""

    def __init__(self, journal: str, folder: Path) -> None:
        """`journal`: a database URL, or the path of a SQLite file; `folder`: of the server's
        state."""
        self._command = (sys.executable, "-P", "-m", _MODULE, journal, str(folder))
        self._process: subprocess.Popen[str] | None = None
        self._counted_s = 0.0
        self._is_closed = False

    def ask(self, now_us: int) -> Mapping[str, Any]:
        """The answer, see the follower. If the process ends, only `failed` and `cpu_s`; if the
        journal cannot be read, `all_cpu_s`, too."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        with suppress(BrokenPipeError, ValueError):
            process.stdin.write(json.dumps({"now_us": now_us}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            found: Mapping[str, Any] = json.loads(line)
            self._counted_s = found["all_cpu_s"]
            return found
        if line:  # Code of a policy has written it, or the process ended meanwhile.
            process.kill()
        before_s = _children_s()
        status = process.wait()
        uncounted_s = max(_children_s() - before_s - self._counted_s, 0.0)
        return {"failed": f"the process ended with status {status}", "cpu_s": uncounted_s}

    def close(self) -> None:
        """End the process, also while another thread asks it."""
        self._is_closed = True
        if self._process is not None:
            self._process.kill()

    def wait(self) -> None:
        """After `close`, when no thread asks any more."""
        if self._process is not None:
            self._process.wait()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            pipe, self._counted_s = subprocess.PIPE, 0.0
            self._process = subprocess.Popen(
                [*self._command, str(os.getpid())],
                stdin=pipe,
                stdout=pipe,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the server, which ends it.
            )
        if self._is_closed:  # `close` may have looked for the process before it started.
            self._process.kill()
        return self._process


def _children_s() -> float:
    """Time of the processor that ended processes took."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
