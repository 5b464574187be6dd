"""Answers one question about a journal: `{"journal": ..., "question": ...}` on stdin, the result as
JSON on stdout. The exit status of an error is that of the command line; stdout has its message.

Lines before the result that begin with `phase` of the input name what the program is doing.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from motet.domain.errors import MotetError
from motet.interfaces.forecasts.decision_replay import DecisionQuestion, decided_again
from motet.interfaces.forecasts.dry_runs.budget import DryRunBudget
from motet.interfaces.forecasts.dry_runs.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.interfaces.forecasts.replay.what_if_report import Tell
from motet.interfaces.forecasts.replay.what_if_summary import what_if_summary
from motet.report.rendering.json_text import to_json
from motet.runtime.executor.process_control import die_with_parent, exit_at_once

_NICENESS = 10
"""Jobs and the server go first."""


def answer_question() -> int:
    """The exit status."""
    asked = json.loads(sys.stdin.read())
    die_with_parent(asked["parent"])
    os.nice(_NICENESS)
    status, answer, output = 0, {}, sys.stdout

    def tell(phase: str) -> None:
        print(f"{asked['phase']}{phase}", file=output, flush=True)

    try:
        with redirect_stdout(sys.stderr):  # Of user's policies.
            answer = answered(asked["journal"], asked["question"], tell)
    except MotetError as error:
        status, answer = int(error.exit_code), {"detail": str(error)}
    sys.stdout.write(to_json(answer))
    return status


def answered(journal: str, question: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`journal`: a database URL or a path. `tell`: called with each phase. Raises MotetError."""
    kind, values = question["kind"], question["values"]
    followed = FollowedJournal(journal)
    try:
        if kind == "dry_run":
            gc.freeze()  # A twentieth of the time goes into looking for garbage in the modules.
            return dry_run(followed, DryRunQuestion(**values), DryRunBudget(report_progress=tell))
        if kind == "decision":
            return decided_again(followed, DecisionQuestion(**values))
        report = what_if(followed, WhatIfQuestion(**values), tell)
        return report if kind == "what_if" else what_if_summary(report)
    finally:
        followed.close()


if __name__ == "__main__":
    exit_at_once(answer_question())
