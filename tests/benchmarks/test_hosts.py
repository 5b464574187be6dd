"""A measurement on a testbed that is ended from outside: it leaves nothing behind."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from marked_process import MarkedProcess

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

# In place of `motet`: notes what it is asked for; a job that it runs never ends by itself.
MOTET = """
import sys, time
with open(sys.argv[1], "a") as calls:
    print(*sys.argv[2:4], file=calls)
if sys.argv[3] == "run":
    print("runs", file=sys.stderr, flush=True)
    time.sleep(600)
"""

MEASUREMENT = """
import sys
sys.path.insert(0, sys.argv[1])
from support import hosts
hosts.MOTET = (sys.executable, "-c", sys.argv[2], sys.argv[3])
hosts.unwind_when_terminated()
with hosts.hosts_up("bed") as bed:
    bed.run(["job"], timeout_s=900, heard=lambda line: print(line.text, flush=True))
"""

# The alarm's thread runs when the signal arrives; who started it has not gone on yet.
TERMINATED_WHILE_THE_ALARM_STARTS = (
    """
import os, signal, threading
class Alarm(threading.Timer):
    def start(self):
        super().start()
        os.kill(os.getpid(), signal.SIGTERM)
threading.Timer = Alarm
"""
    + MEASUREMENT
)


def test_a_measurement_that_is_terminated_ends_its_job_and_its_testbed(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    arguments = [sys.executable, "-c", MEASUREMENT, str(BENCHMARKS), MOTET, str(calls)]
    measurement = MarkedProcess(arguments)
    try:
        assert measurement.first_line() == "runs"
        code, _, err = measurement.end(signal.SIGTERM, timeout_s=60)
        assert (code, err.splitlines()[-1]) == (1, "terminated")
        assert measurement.descendants() == {}
    finally:
        measurement.kill_descendants()
    assert calls.read_text().splitlines() == [
        f"testbed {it}" for it in ("down", "up", "run", "down")
    ]


def test_a_measurement_that_is_terminated_at_the_start_of_its_job_ends(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    script = TERMINATED_WHILE_THE_ALARM_STARTS
    arguments = [sys.executable, "-c", script, str(BENCHMARKS), MOTET, str(calls)]
    measurement = MarkedProcess(arguments)
    try:
        _, err = measurement.process.communicate(timeout=60)
        assert (measurement.process.returncode, err.splitlines()[-1]) == (1, "terminated")
        assert measurement.descendants() == {}
    finally:
        measurement.kill_descendants()
    assert calls.read_text().splitlines()[-1] == "testbed down"
