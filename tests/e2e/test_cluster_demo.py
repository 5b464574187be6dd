"""`motet demo` as a user runs it: everything succeeds, and nothing is left."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from marked_process import motet_process, run_motet

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(900)]


def test_all_jobs_of_the_demo_succeed(tmp_path: Path) -> None:
    ended = run_motet("demo", "--out", tmp_path, "--json", timeout_s=800)

    assert (ended.code, ended.left_running) == (0, {}), ended.err
    document = json.loads(ended.out)
    assert [job["state"] for job in document["jobs"]] == ["SUCCEEDED"] * 12, ended.err
    assert document["other_mean_jct_s"] is not None
    assert sum(job["preemptions"] for job in document["jobs"]) > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=str)
def test_a_demo_that_is_stopped_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    running = motet_process("demo", "--out", str(tmp_path))
    assert running.process.stderr is not None
    for line in running.process.stderr:
        if " runs" in line:
            break

    running.process.send_signal(number)
    running.process.communicate(timeout=120)
    running.wait_until(lambda: running.descendants() == {})
