"""The latest round of predictions in a file, for the next server on the same state folder."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from motet import __version__
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.state import LiveState

FILE = "predictions.json"
WAITING = (JobState.PENDING, JobState.PREEMPTED)
_LOG = logging.getLogger("motet.predictions")


class KeptPredictions:
    """One process. An error of the disk is logged: the next server predicts anew then."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of this user alone."""
        self._path = folder / FILE

    def keep(self, answer: Mapping[str, Any], policy: tuple[str, Mapping[str, str]]) -> None:
        """Replace the file. `answer`: of the follower; `policy`: name and parameters with which it
        was made."""
        name, settings = policy
        kept = {"version": __version__, "policy": name, "settings": dict(settings), **answer}
        temporary = self._path.with_suffix(f".{os.getpid()}")
        try:
            temporary.touch(mode=0o600)
            temporary.write_text(json.dumps(kept), encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            _LOG.warning("predictions_not_kept", extra={"fields": {"error": str(error)}})

    def read(self, state: LiveState) -> dict[str, Any] | None:
        """What of the kept answer still holds; None: there is none of this version and policy."""
        try:
            kept: Mapping[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _LOG.warning("predictions_unreadable", extra={"fields": {"error": str(error)}})
            return None
        present = (__version__, state.policy.policy, dict(state.policy.settings))
        if (kept["version"], kept["policy"], kept["settings"]) != present:
            return None
        return still_valid(kept, state)


def still_valid(kept: Mapping[str, Any], state: LiveState) -> dict[str, Any]:
    """Starts of the same waits, ends of jobs that have not ended, and the coverage. Pure.

    After a restore from a backup, numbers of jobs and of attempts are given again.
    """
    known = {
        number: job for number, job in state.jobs.items() if job.submitted_us <= kept["made_us"]
    }
    starts = {
        number: start
        for number, start in kept["starts"].items()
        if (job := known.get(int(number))) is not None and _is_same_wait(job, start)
    }
    ends = {
        number: end
        for number, end in kept["ends"].items()
        if (job := known.get(int(number))) is not None and not job.state.is_final
    }
    return {
        "starts": starts,
        "ends": ends,
        "made_us": kept["made_us"],
        "coverage": kept["coverage"],
    }


def _is_same_wait(job: LiveJob, start: Mapping[str, Any]) -> bool:
    return job.state in WAITING and not job.is_held and len(job.attempts) == start["attempts"]
