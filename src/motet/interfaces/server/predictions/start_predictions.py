"""Predicted starts and ends of jobs, kept current by a process that follows the journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from motet.domain.units import SECOND_US, iso_time, seconds
from motet.insight.expected_start import later_view
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState

FIRST_PAUSE_S = 5.0
"""Jobs that wait for less have no prediction."""
_SHORTEST_PAUSE_S = 2.0
_PAUSE_RATIO = 20
"""Pauses are so many times as long as rounds: predictions take a twentieth of a core."""
_WAITING = (JobState.PENDING, JobState.PREEMPTED)
_MODULE = "motet.interfaces.forecasts.follower"
_NOTHING: Mapping[str, Any] = {"starts": {}, "ends": {}, "made_us": 0, "coverage": None}
WATCHED_S, FRESH_S, OLDEST_S = 60.0, 30.0, 600.0
"""How long predictions go on after a page has shown them; from which age on a page asks for new
ones; from which age on it shows no ends."""


class StartPredictions:
    """A thread that asks the process after changes, while jobs wait or a page shows them; the
    process starts with the first question and starts again if it ends."""

    def __init__(self, journal: str, folder: Path, on_change: Callable[[], None]) -> None:
        """`journal`: a database URL, or the path of a SQLite file; `folder`: of the server's state.
        `on_change`: called after every round."""
        self._command = (sys.executable, "-P", "-m", _MODULE, journal, str(folder))
        self._on_change = on_change
        self._waiting: set[int] = set()
        self._watched_until_s = 0.0
        self._found: Mapping[str, Any] = _NOTHING
        self._process: subprocess.Popen[str] | None = None
        self._changed, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="predictions", daemon=True)

    def start(self) -> None:
        """Begin to predict."""
        self._thread.start()

    def follow(self, jobs: Sequence[LiveJob]) -> None:
        """Jobs have changed; called on the thread of the master."""
        for job in jobs:
            waits = job.state in _WAITING
            (self._waiting.add if waits else self._waiting.discard)(job.number)
        if self._is_wanted():
            self._changed.set()

    def watch(self) -> None:
        """A page shows predictions: for some time predict also while nothing waits."""
        self._watched_until_s = time.monotonic() + WATCHED_S
        if time.time() - seconds(self._found["made_us"]) > FRESH_S:
            self._changed.set()

    def ahead(self, now_us: int) -> tuple[dict[int, dict[str, Any]], dict[int, list[Any]]]:
        """Expected starts (as `of`) and ends (`low`, `median`, `high` in Unix seconds, None: later
        than what was simulated) of jobs; those that are missing are not known."""
        found = self._found
        waiting = {number: self.of(number, now_us) for number in [*self._waiting]}
        starts = {number: start for number, start in waiting.items() if start is not None}
        is_old = now_us - found["made_us"] > OLDEST_S * SECOND_US
        ends = {} if is_old else {int(job): end for job, end in found["ends"].items()}
        return starts, ends

    def of(self, number: int, now_us: int) -> dict[str, Any] | None:
        """The latest prediction of a waiting job: `made` (ISO 8601), `low_s`, `median_s` and
        `high_s` from now on, `unknown_because`; None: there is none yet."""
        found = self._found["starts"].get(str(number))
        if found is None or number not in self._waiting:
            return None
        passed_s = seconds(now_us - found["made_us"])
        return {"made": iso_time(found["made_us"]), **later_view(found, passed_s)}

    @property
    def coverage(self) -> Mapping[str, Any] | None:
        """How many starts were within their ranges; None: nothing was predicted since the start."""
        found: Mapping[str, Any] | None = self._found["coverage"]
        return found

    def close(self) -> None:
        """End thread and process."""
        self._closing.set()
        self._changed.set()
        if self._process is not None:
            self._process.kill()
        if self._thread.is_alive():
            self._thread.join()
        if self._process is not None:
            self._process.wait()

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._closing.is_set():
            self._changed.wait()
            if self._closing.wait(pause_s):
                return
            self._changed.clear()
            if not self._is_wanted():
                continue  # The jobs have started meanwhile.
            answer = self._ask()
            if answer is None:
                self._changed.set()  # The process has ended: ask another one.
                pause_s = FIRST_PAUSE_S
            else:
                self._found = answer
                self._on_change()
                pause_s = max(_PAUSE_RATIO * answer["cpu_s"], _SHORTEST_PAUSE_S)

    def _is_wanted(self) -> bool:
        is_watched = time.monotonic() < self._watched_until_s
        return bool(self._waiting or self._found["starts"] or is_watched)

    def _ask(self) -> Mapping[str, Any] | None:
        """None: the process has ended; the next round starts another one."""
        if self._process is None or self._process.poll() is not None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                [*self._command, str(os.getpid())], stdin=pipe, stdout=pipe, encoding="utf-8"
            )
        if self._closing.is_set():  # `close` may have looked for the process before it started.
            self._process.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps({"now_us": time.time_ns() // 1000}) + "\n")
            self._process.stdin.flush()
            found: Mapping[str, Any] = json.loads(self._process.stdout.readline())
            return found
        return None
