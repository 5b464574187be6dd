"""Random kills of server, launcher, spawner, shepherds and jobs: `motet server` as a whole.

Nothing acknowledged is lost, no process runs twice, and every job ends as it would have: commands
have counted to the end, trainings have the model of an undisturbed one.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kill_rounds import (
    EPOCHS,
    KINDS,
    PROGRAM,
    SERVER_OPTIONS,
    check,
    check_doubles,
    job_of,
    run_with_kills,
)
from live_server import LiveServer, variables_of
from live_trainings import undisturbed
from motet.live.launcher.leftovers import MARK
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "2x2", *SERVER_OPTIONS)
    yield found
    found.kill_everything()


@pytest.fixture(scope="module")
def digest() -> str:
    """Of the model of such a training without kills."""
    found: str = undisturbed(EPOCHS, 1, 1)["model_sha256"]
    return found


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_kills_lose_no_job_and_start_none_twice(server: LiveServer, digest: str) -> None:
    draw = random.Random(1)
    kinds = [kind for kind in KINDS for _ in range(2)]
    draw.shuffle(kinds)
    run_with_kills(server, tuple(kinds), seed=1, jobs=6, trainings=1, digest=digest)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(1))
def test_many_kills_lose_no_job_and_start_none_twice(
    server: LiveServer, digest: str, seed: int
) -> None:
    draw = random.Random(seed)
    kinds = tuple(draw.choices(KINDS, k=30))
    run_with_kills(server, kinds, seed, jobs=30, trainings=6, digest=digest)


@pytest.mark.soak
def test_the_checker_notices_a_planted_double_start(server: LiveServer) -> None:
    client = server.start()
    job = client.submit(job_of("twice", 1, 2000))
    lock = server.folder / "checkpoints" / job["id"] / "lock-0"
    wait_until(lambda: lock.exists() and client.job(job["id"])["state"] == "RUNNING")
    environment = {
        "MOTET_CHECKPOINT_DIR": str(lock.parent),
        "RANK": "0",
        "MOTET_ATTEMPT": "planted",
    }
    code = os.spawnve(
        os.P_WAIT, sys.executable, [sys.executable, "-S", str(PROGRAM), "1"], environment
    )
    assert code == 77
    client.change(job["id"], "cancel")
    with pytest.raises(AssertionError):
        check(server, client, {job["id"]: 1}, 2000)
    assert (lock.parent / "double-0").exists()


@pytest.mark.soak
@pytest.mark.parametrize("attempt", ["1", "2"])
def test_the_checker_notices_a_second_process_that_locks_nothing(
    server: LiveServer, attempt: str
) -> None:
    client = server.start()
    job = client.submit(job_of("twice", 1, 2000))["id"]
    lock = server.folder / "checkpoints" / job / "lock-0"
    wait_until(lock.exists)
    check_doubles(server)
    (pid,) = server.job_processes()
    variables = variables_of(pid)
    variables[MARK] = str(Path(variables[MARK]).with_name(attempt))
    with subprocess.Popen(["/bin/sleep", "1000"], env=variables) as planted:
        wait_until(lambda: MARK in variables_of(planted.pid))
        try:
            with pytest.raises(AssertionError, match="run at the same time"):
                check_doubles(server)
        finally:
            planted.kill()
    check_doubles(server)
    client.change(job, "cancel")
