"""A launcher as a process: what is delivered of its output, and what ends it."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence

import pytest

from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    AttemptRunning,
    LauncherMessage,
    MachineExamined,
    Report,
    StopAttempt,
)
from motet.live.master.launcher_process import LauncherProcess

RUNNING = AttemptRunning("7.1", 1_700_000_000.0)
EXAMINED = MachineExamined("m0", 1_700_000_000.0)
PRINTING = """
import sys
for line in sys.argv[1:-1]:
    sys.stdout.buffer.write(line.encode("latin-1") + b"\\n")
sys.stdout.flush()
sys.stdin.read()
"""


class Heard:
    """What a launcher delivered that prints these lines and then waits for its end."""

    def __init__(self, *lines: str) -> None:
        self.reports: list[Report] = []
        self.examined: list[MachineExamined] = []
        self.has_ended = threading.Event()
        self.process = LauncherProcess(
            (sys.executable, "-c", PRINTING, *lines),
            1,
            self.reports.append,
            self.has_ended.set,
            self.examined.append,
        )


def lines(messages: Sequence[LauncherMessage]) -> tuple[str, ...]:
    return tuple(message_line(each) for each in messages)


def test_reports_are_delivered_until_the_launcher_is_closed() -> None:
    heard = Heard(*lines([RUNNING, EXAMINED, RUNNING]))
    heard.process.close()
    assert (heard.reports, heard.examined) == ([RUNNING, RUNNING], [EXAMINED])
    assert heard.has_ended.is_set()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("Warning: disk is slow", "not a message of the launcher: 'Warning: disk is slow"),
        ('{"kind": "AttemptVanished", "attempt": "7.1"}', "AttemptVanished"),
        ("\xff\xfe", "xff"),
        (*lines([StopAttempt("7.1", 15, 5.0)]), "not a report of the launcher"),
    ],
    ids=["text", "kind", "bytes", "request"],
)
def test_a_line_that_is_no_report_ends_the_launcher(
    line: str, named: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        heard = Heard(*lines([RUNNING]), line, *lines([RUNNING]))
        assert heard.has_ended.wait(60)
    heard.process.close()
    assert heard.reports == [RUNNING]
    [record] = caplog.records
    assert record.getMessage() == "launcher_line_unknown"
    assert named in vars(record)["fields"]["reason"]
