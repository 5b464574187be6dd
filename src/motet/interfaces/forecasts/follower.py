"""Follows a journal and predicts starts and ends of jobs whenever it is asked.

A line `{"now_us": ...}` on stdin is answered by a line `{"starts": {JOB: ...}, "ends": {JOB: [LOW,
MEDIAN, HIGH]}, "because": ..., "failed": ..., "made_us": ..., "coverage": ..., "cpu_s": ...,
"all_cpu_s": ...}`. Ends are Unix seconds; null: later than what was simulated. `because`: why
nothing is predicted, `failed`: the error if the simulation failed; else empty. If the journal
cannot be read, only `failed` and the times are answered. `cpu_s`: of this round, `all_cpu_s`: of
the process. Arguments: the journal, the folder of the server's state, the
process to end with.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from motet.domain.errors import MotetError
from motet.domain.units import seconds
from motet.interfaces.forecasts.expected_ends import ExpectedEnd, expected_ends
from motet.interfaces.forecasts.expected_starts import (
    ExpectedStart,
    simulated_futures,
    start_document,
    starts_in,
    within,
)
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.interfaces.forecasts.new_jobs import cluster_obstacle
from motet.interfaces.forecasts.prediction_store import PredictionStore
from motet.runtime.executor.process_control import die_with_parent, exit_at_once

BUDGET_S = 6.0
"""Of the processor: a process of low priority waits for it on a machine that has much to do. With a
longer one pauses would be too long for jobs that begin to wait meanwhile."""
_NICENESS = 10


def predict_starts(journal: FollowedJournal, store: PredictionStore, now_us: int) -> dict[str, Any]:
    """One round: settle what was predicted before, and predict all waits and ends.

    While a joined cluster is out of reach, or the policy has failed, nothing is predicted; a
    simulation that fails, as policies may, ends the round but not this process.
    """
    journal.read()
    state, engine = journal.cluster.state, journal.cluster.engine
    now_us = max(now_us, engine.state.now_us)
    store.settle(state.jobs, now_us)
    starts: dict[int, ExpectedStart] = {}
    ends: dict[int, ExpectedEnd] = {}
    because, failed = cluster_obstacle(state), ""
    if not because:
        try:
            starts, ends = _foreseen(journal, now_us)
        except Exception as error:  # The code of a policy may raise anything.
            failed = f"{type(error).__name__}: {error}"
    store.add(state.jobs, starts, now_us, state.policy.policy)
    return {
        "starts": {
            str(job): {
                "attempts": len(state.jobs[job].attempts),
                "made_us": now_us,
                **start_document(start, now_us),
            }
            for job, start in starts.items()
        },
        "ends": {
            str(job): [each and seconds(each) for each in (end.low_us, end.median_us, end.high_us)]
            for job, end in ends.items()
        },
        "because": because,
        "failed": failed,
        "made_us": now_us,
        "coverage": store.coverage(now_us).document(),
    }


def _foreseen(
    journal: FollowedJournal, now_us: int
) -> tuple[dict[int, ExpectedStart], dict[int, ExpectedEnd]]:
    futures = PossibleFutures(journal.cluster, now_us, journal.position)
    simulated = simulated_futures(futures, futures.waiting, within(BUDGET_S))
    return starts_in(futures, futures.waiting, simulated), expected_ends(futures, simulated)


def _store_of(journal: FollowedJournal, folder: Path) -> PredictionStore:
    """Without what it holds of another history of the cluster."""
    journal.read()
    store = PredictionStore(folder)
    store.forget_lost(journal.cluster.state.jobs)
    return store


def follow(address: str, folder: Path, questions: TextIO, answers: TextIO) -> None:
    """Answer until the end of the input."""
    following = _Following(address, folder)
    for line in questions:
        with redirect_stdout(sys.stderr):  # Of user's policies.
            answer = following.answer(json.loads(line)["now_us"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class _Following:
    """A journal that is opened with the first question, and again after it could not be read."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address, self._folder = address, folder
        self._opened: tuple[FollowedJournal, PredictionStore] | None = None
        self._first_failure = ""

    def answer(self, now_us: int) -> dict[str, Any]:
        """While the journal cannot be read `failed` is why it could not at first, so that the
        server logs one failure and not each form that its error takes."""
        began_s = time.process_time()
        try:
            if self._opened is None:
                self._opened = self._open()
                began_s = time.process_time()  # The next rounds need not read it all.
            found = predict_starts(*self._opened, now_us)
            self._first_failure = ""
        except MotetError as error:
            self._close()
            self._first_failure = self._first_failure or str(error)
            found = {"failed": self._first_failure}
        all_s = time.process_time()
        return {**found, "cpu_s": all_s - began_s, "all_cpu_s": all_s}

    def _open(self) -> tuple[FollowedJournal, PredictionStore]:
        journal = FollowedJournal(self._address)
        try:
            return journal, _store_of(journal, self._folder)
        except BaseException:
            journal.close()
            raise

    def _close(self) -> None:
        if self._opened is not None:
            for each in self._opened:
                each.close()
            self._opened = None


if __name__ == "__main__":
    die_with_parent(int(sys.argv[3]))
    os.nice(_NICENESS)
    follow(sys.argv[1], Path(sys.argv[2]), sys.stdin, sys.stdout)
    exit_at_once(0)
