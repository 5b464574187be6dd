"""Answers one question about a journal: `{"journal": ..., "question": ...}` on stdin, the result as
JSON on stdout. The exit status of an error is that of the command line; stdout has its message."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from motet.domain.errors import MotetError
from motet.interfaces.forecasts.dry_run import DryRunQuestion, dry_run
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.what_if import WhatIfQuestion, what_if
from motet.report.rendering.json_text import to_json
from motet.runtime.executor.process_control import die_with_parent

_NICENESS = 10
"""Jobs and the server go first."""


def answer_question() -> int:
    """The exit status."""
    asked = json.loads(sys.stdin.read())
    die_with_parent(asked["parent"])
    os.nice(_NICENESS)
    status, answer = 0, {}
    try:
        with redirect_stdout(sys.stderr):  # Of user's policies.
            answer = answered(asked["journal"], asked["question"])
    except MotetError as error:
        status, answer = int(error.exit_code), {"detail": str(error)}
    sys.stdout.write(to_json(answer))
    return status


def answered(journal: str, question: dict[str, Any]) -> dict[str, Any]:
    """`journal`: a database URL or a path. Raises MotetError."""
    kind, values = question["kind"], question["values"]
    followed = FollowedJournal(journal)
    try:
        if kind == "dry_run":
            return dry_run(followed, DryRunQuestion(**values))
        return what_if(followed, WhatIfQuestion(**values))
    finally:
        followed.close()


if __name__ == "__main__":
    sys.exit(answer_question())
