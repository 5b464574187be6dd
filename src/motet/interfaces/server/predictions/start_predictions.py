"""Predicted starts and ends of jobs, kept current by a process that follows the journal."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, get_args

from motet.domain.units import SECOND_US, iso_time, seconds
from motet.insight.expected_start import later_view, unknown_start
from motet.interfaces.server.predictions.kept_predictions import WAITING, KeptPredictions
from motet.interfaces.server.predictions.pacing import Pacing
from motet.live.jobs.job import LiveJob
from motet.live.master.facts import (
    ClusterReached,
    DrainBegan,
    MachineDrained,
    MachineNoted,
    MachineResumed,
    PolicyChosen,
    PolicyFailed,
)
from motet.live.master.master import DurableStep
from motet.live.master.state import LiveState
from motet.live.queues.queue_facts import QueueFact

_NOTHING: Mapping[str, Any] = {
    "starts": {},
    "ends": {},
    "made_us": 0,
    "coverage": None,
    "because": "",
    "asked_us": 0,
}
WATCHED_S, FRESH_S, OLDEST_S = 60.0, 30.0, 600.0
"""How long predictions go on after a page has shown them; from which age on a page asks for new
ones; from which age on it shows no ends."""
_OF_ALL_WAITS = (
    *(ClusterReached, MachineNoted, MachineDrained, DrainBegan, MachineResumed),
    *(PolicyFailed, *get_args(QueueFact)),
)
"""Facts that may concern all waits, also where the reason of none changes."""
NOT_YET = "not predicted yet"
_FAILED = "the simulation failed, the log of the server says why"
_LOG = logging.getLogger("motet.predictions")


class Follower(Protocol):
    """Predicts when it is asked, see FollowerProcess."""

    def ask(self, now_us: int) -> Mapping[str, Any]:
        """The answer; without a result only `failed`, the reason, and `cpu_s`."""
        ...

    def close(self) -> None:
        """End it, also while another thread asks."""

    def wait(self) -> None:
        """After `close`, when no thread asks any more."""


class StartPredictions:
    """A thread that asks the process after changes, while jobs wait or a page shows predictions,
    and when a predicted time has come. Observes the master (see MasterObserver)."""

    def __init__(
        self,
        process: Follower,
        on_change: Callable[[], None],
        kept: KeptPredictions,
        pacing: Pacing | None = None,
    ) -> None:
        """`on_change`: called after every round. `kept`: of the server before."""
        self._process, self._on_change, self._kept = process, on_change, kept
        self._pacing = pacing or Pacing()
        self._lock = threading.Lock()
        self._waiting_since_us: dict[int, int] = {}
        self._found, self._is_unsettled, self._policies = _NOTHING, False, 0
        self._policy: tuple[str, Mapping[str, str]] = ("", {})
        self._watched_until_s = 0.0
        self._last_failure = ""
        self._changed, self._hurry = threading.Event(), threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="predictions", daemon=True)

    def start(self) -> None:
        """Begin to predict."""
        self._thread.start()

    def follow(self, jobs: Sequence[LiveJob]) -> None:
        """Jobs have changed; called on the thread of the master."""
        now_us = _now_us()
        with self._lock:
            for job in jobs:
                if job.state in WAITING and not job.is_held:
                    self._waiting_since_us.setdefault(job.number, now_us)
                elif self._waiting_since_us.pop(job.number, None) is not None:
                    self._is_unsettled |= (
                        self._found["starts"].pop(str(job.number), None) is not None
                    )
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
        found, waiting = self._found, self._waiting_since_us.copy()
        told = _ToldStarts(found, now_us)
        each_start = ((number, told.of(number, since_us)) for number, since_us in waiting.items())
        starts = {number: start for number, start in each_start if start is not None}
        is_old = now_us - found["made_us"] > OLDEST_S * SECOND_US
        ends = {} if is_old else {int(job): end for job, end in found["ends"].items()}
        return starts, ends

    def of(self, number: int, now_us: int) -> dict[str, Any] | None:
        """The latest prediction of a waiting job: `made` (ISO 8601; None: there is none yet),
        `low_s`, `median_s` and `high_s` from now on, `unknown_because`, `overdue_s`; None: it does
        not wait, or has got its slots."""
        since_us = self._waiting_since_us.get(number)
        return None if since_us is None else _ToldStarts(self._found, now_us).of(number, since_us)

    @property
    def coverage(self) -> Mapping[str, Any] | None:
        """How many starts were within their ranges; None: nothing was predicted yet."""
        found: Mapping[str, Any] | None = self._found["coverage"]
        return found

    def close(self) -> None:
        """End thread and process."""
        self._closing.set()
        self._changed.set()
        self._hurry.set()
        self._process.close()
        if self._thread.is_alive():
            self._thread.join()
        self._process.wait()

    # -- an observer of the master -----------------------------------------------------------------

    def began(self, state: LiveState) -> None:
        """See MasterObserver. What the server before has predicted is shown until the first round,
        which comes also while nothing waits: jobs may have started since."""
        self._policy = (state.policy.policy, state.policy.settings)
        if (kept := self._kept.read(state)) is not None:
            self._found = {**_NOTHING, **kept}
        if state.jobs:
            self._is_unsettled = True
            self._changed.set()

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """Another policy makes all predictions invalid: they are made anew without a pause. Changes
        of machines and queues may lift what made starts unknown."""
        del jobs
        facts = [fact for step in steps for fact in step.facts]
        if any(isinstance(fact, PolicyChosen) for fact in facts):
            with self._lock:
                self._policies += 1
                self._policy = (state.policy.policy, state.policy.settings)
                self._is_unsettled |= bool(self._found["starts"])
                self._found = {**_NOTHING, "coverage": self._found["coverage"]}
            self._changed.set()
            self._hurry.set()
        elif any(isinstance(fact, _OF_ALL_WAITS) for fact in facts):
            with self._lock:
                starts = self._found["starts"]
                known = {job: it for job, it in starts.items() if it["high_s"] is not None}
                self._found = {**self._found, "starts": known, "because": "", "asked_us": 0}
            if self._is_wanted():
                self._changed.set()

    def launched(self) -> None:
        """See MasterObserver."""

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        pacing, wait_s, next_s = self._pacing, self._pacing.first_s, 0.0
        while not self._closing.is_set():
            self._changed.wait(self._fresh_s())
            self._hurry.wait(max(next_s - time.monotonic(), wait_s))
            if self._closing.is_set():
                return
            self._hurry.clear()
            self._changed.clear()
            if not self._is_wanted():
                continue  # The jobs have started meanwhile.
            asked_us, policies, self._is_unsettled = _now_us(), self._policies, False
            answer = self._process.ask(asked_us)
            if self._closing.is_set():
                return
            self._take(answer, asked_us, policies)
            self._on_change()
            pause_s = (pacing.failed if answer["failed"] else pacing.succeeded)(answer["cpu_s"])
            wait_s, next_s = pacing.shortest_s, time.monotonic() + pause_s

    def _fresh_s(self) -> float | None:
        """For how long the predictions hold while no job changes; None: on and on."""
        with self._lock:
            found = self._found
            known = [start["high_s"] for start in found["starts"].values()]
        ends_s: list[float] = [high_s for high_s in known if high_s is not None]
        if not ends_s:
            return None
        age_s: float = time.time() - seconds(found["made_us"])
        return max(min(*ends_s, self._pacing.longest_s) - age_s, 0.0)

    def _is_wanted(self) -> bool:
        is_watched = time.monotonic() < self._watched_until_s
        return bool(self._waiting_since_us or self._is_unsettled or is_watched)

    def _take(self, answer: Mapping[str, Any], asked_us: int, policies: int) -> None:
        """`policies`: how many there had been when it was asked for."""
        if failure := answer["failed"]:
            self._changed.set()  # Try again.
            if failure != self._last_failure:
                _LOG.warning("prediction_failed", extra={"fields": {"error": failure}})
        self._last_failure = failure
        kept = None
        with self._lock:
            coverage = answer.get("coverage", self._found["coverage"])
            if policies != self._policies:
                self._found = {**_NOTHING, "coverage": coverage}
                self._is_unsettled = True
            elif failure:
                told = {"because": _FAILED, "asked_us": asked_us, "coverage": coverage}
                self._found = {**self._found, **told}
                self._is_unsettled |= "coverage" not in answer
            else:
                given, waiting = answer["starts"], self._waiting_since_us
                starts = {job: start for job, start in given.items() if int(job) in waiting}
                self._is_unsettled |= len(starts) < len(given)
                self._found = {**answer, "starts": starts, "asked_us": asked_us}
                kept = {**self._found, "starts": {**starts}}, self._policy
        if kept is not None:
            self._kept.keep(*kept)


class _ToldStarts:
    """What `of` tells at one moment. What is the same for many jobs is made once."""

    def __init__(self, found: Mapping[str, Any], now_us: int) -> None:
        self._starts, self._asked_us = found["starts"], found["asked_us"]
        self._made = iso_time(found["made_us"])
        self._passed_s = seconds(now_us - found["made_us"])
        self._not_yet = {"made": None, **unknown_start(NOT_YET)}
        because = found["because"]
        self._unknown = {"made": None, **unknown_start(because)} if because else None

    def of(self, number: int, since_us: int) -> dict[str, Any] | None:
        """`since_us`: since when the job waits."""
        if (start := self._starts.get(str(number))) is not None:
            return {"made": self._made, **later_view(start, self._passed_s)}
        return self._not_yet if self._asked_us < since_us else self._unknown


def _now_us() -> int:
    return time.time_ns() // 1000
