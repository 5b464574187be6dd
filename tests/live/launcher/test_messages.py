"""Messages between master and launcher survive their way through a pipe."""

from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptProposed,
    AttemptResized,
    AttemptRunning,
    LauncherRequest,
    RankExit,
    RankTask,
    Report,
    SizeWish,
    StartAttempt,
    StopAttempt,
    parse_message,
)

TASK = RankTask("m0", ("sh", "-c", "echo 'a\nb'"), "/tmp", {"NAME": "value"})
LOST = RankExit(None, 9, "lost", None, 3.0)
MESSAGES = [
    StartAttempt("7.1", "/state/7/1", (TASK, TASK), 15, 30.0, 600.0),
    StopAttempt("7.1", 10, 0.5),
    AttemptRunning("7.1", 12.5),
    StartAttempt("7.1", "/state/7/1", (TASK,) * 3, 15, 30.0, 600.0, joined=1, dismissed=(1,)),
    AttemptResized("7.1", 3, (1,)),
    AttemptProgressed("7.1", 3.0, ((2.0, 0.5), (3.0, 0.25)), 1.5),
    AttemptProgressed("7.1", 3.0),
    AttemptProposed("7.1", SizeWish(2, 3, 1, 0.25)),
    AttemptEnded(
        "7.1", (RankExit(0, None, "exited", 1.0, 2.0), RankExit(None, 9, "lost", None, 3.0))
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda it: type(it).__name__)
def test_a_message_is_one_line_and_comes_back_as_it_was(message: LauncherRequest | Report) -> None:
    line = message_line(message)
    assert "\n" not in line
    assert parse_message(line) == message


@pytest.mark.parametrize(
    "line", ["", "{}", "[1]", '{"kind": "Nothing"}', '{"kind": "StopAttempt"}']
)
def test_anything_else_is_refused(line: str) -> None:
    with pytest.raises(BadInput, match="not a message"):
        parse_message(line)
