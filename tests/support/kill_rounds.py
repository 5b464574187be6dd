"""Random kills of a real `motet server` and what it has started, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path

from attained_service import check_attained
from live_server import LiveServer, variables_of
from live_trainings import FINAL
from live_trainings import PROGRAM as TRAINING
from motet.domain.errors import MotetError, Unreachable
from motet.interfaces.client import LiveClient
from motet.live.launcher.leftovers import MARK
from waiting import wait_until

PROGRAM = Path(__file__).parent / "counting_job.py"
EPOCHS = 30
KINDS = ("server", "launcher", "spawner", "shepherd")
SERVER_OPTIONS = ("--policy", "tiresias-las", "--set", "quantum_s=1", "--drain-after", "0")


def job_of(name: str, processes: int, steps: int) -> dict[str, object]:
    run = [sys.executable, "-S", str(PROGRAM), str(steps)]
    return {"name": name, "run": run, "processes": processes, "workdir": "/"}


def submit_some(
    client: LiveClient,
    left: list[tuple[str, int]],
    accepted: dict[str, int],
    count: int,
    steps: int,
) -> None:
    """Submit so many of the names and processes that are left.

    A job whose answer was lost is submitted again later, with the same key.
    """
    for _ in range(min(count, len(left))):
        name, processes = left[0]
        try:
            job = client.submit(job_of(name, processes, steps), key=name)
        except MotetError:
            return
        accepted[job["id"]] = processes
        left.pop(0)


def training_of(name: str) -> dict[str, object]:
    """A training whose epochs take a while, on two slots."""
    return {
        "name": name,
        "app": TRAINING,
        "data": "digits",
        "set": {"tol": 0},
        "epochs": EPOCHS,
        "checkpoint_every": 5,
        "envs": {"HELD_UNTIL": "/", "EPOCH_S": "0.1"},
        "workdir": "/",
    }


def kill_one(server: LiveServer, kind: str, draw: random.Random) -> LiveClient | None:
    """Kill a process of a kind or, while there is none, of another one; returns a new client if the
    server had to be started again."""
    processes = {
        "spawner": server.spawners,
        "shepherd": server.shepherds,
        "launcher": server.launchers,
    }
    for other in () if kind == "server" else (kind, *processes):
        if found := processes[other]():
            with suppress(ProcessLookupError):
                os.kill(draw.choice(found), signal.SIGKILL)
            return None
    server.kill()
    return server.start()


def check(
    server: LiveServer,
    client: LiveClient,
    accepted: dict[str, int],
    steps: int,
    trained: dict[str, str] | None = None,
    journal: str = "",
) -> None:
    """Every accepted job has succeeded, each of its processes counted to the end, once; so is its
    attained service.

    `trained`: jobs that are trainings, and the digests that their models must have. `journal`: its
    address; empty: the usual one.
    """
    jobs, trained = {job["id"]: job for job in client.jobs()}, trained or {}
    assert jobs.keys() == accepted.keys() | trained.keys()
    assert {job["state"] for job in jobs.values()} == {"SUCCEEDED"}, jobs
    checkpoints = server.folder / "checkpoints"
    assert list(checkpoints.glob("*/double-*")) == []
    for number, processes in accepted.items():
        for rank in range(processes):
            assert (checkpoints / number / f"count-{rank}").read_text() == str(steps)
    for number, digest in trained.items():
        record = json.loads((server.folder / "results" / number / "run.json").read_text())
        assert (record["model_sha256"], record["epochs"]) == (digest, EPOCHS)
    check_attained(server.folder, journal or str(server.folder / "journal.db"))


def run_with_kills(
    server: LiveServer, kinds: tuple[str, ...], seed: int, jobs: int, trainings: int, digest: str
) -> None:
    """Submit jobs, kill a process of each kind in turn at random moments, wait for the end.

    `digest`: of the model of an undisturbed training.
    """
    draw, steps = random.Random(seed), 40
    client, accepted, trained = server.start(), dict[str, int](), dict[str, str]()
    for number in range(jobs):
        processes = draw.randint(1, 3)
        job = client.submit(job_of(f"j{number}", processes, steps), key=f"key-{number}")
        accepted[job["id"]] = processes
        if number < trainings:
            job = client.submit(training_of(f"t{number}"), key=f"training-{number}")
            trained[job["id"]] = digest
    for kind in kinds:
        await_steps(server, client, draw.randint(0, 400))
        client = kill_one(server, kind, draw) or client
    sizes = list(accepted.values())
    for number in range(jobs):  # A client that lost the answer repeats its request.
        again = job_of(f"j{number}", sizes[number], steps)
        repeated = client.submit(again, key=f"key-{number}")
        assert repeated["id"] in accepted
    for job in (*accepted, *trained):
        while client.wait(job, 30.0)["state"] not in FINAL:
            pass
    check(server, client, accepted, steps, trained)
    server.end()
    assert server.job_processes() == []
    assert server.shepherds() == []


def await_steps(server: LiveServer, client: LiveClient, steps: int) -> None:
    """Wait until the jobs have counted so many steps further, or have ended. Raises AssertionError
    if a job runs twice meanwhile."""
    folder = server.folder / "checkpoints"
    begun = _counted(folder)

    def is_done() -> bool:
        check_doubles(server)
        return _counted(folder) >= begun + steps or _are_over(client)

    wait_until(is_done)


def check_doubles(server: LiveServer) -> None:
    """Raises AssertionError if processes of two attempts of a job run at the same time, or two of a
    rank of a counting job: whether or not they use the locks."""
    seen = server.variables_of_jobs()
    # One may have ended before the other began, unless both are still there after that look.
    there = {pid: each for pid, each in seen.items() if variables_of(pid) == each}
    by_job = dict[str, list[dict[str, str]]]()
    for variables in there.values():
        by_job.setdefault(variables["MOTET_CHECKPOINT_DIR"], []).append(variables)
    for folder, processes in by_job.items():
        attempts = {each[MARK] for each in processes}
        assert len(attempts) == 1, f"{folder}: {attempts} run at the same time"
        if any(Path(folder).glob("lock-*")):
            ranks = sorted(each["RANK"] for each in processes)
            assert len({*ranks}) == len(ranks), f"{folder}: ranks {ranks} run at the same time"


def _counted(folder: Path) -> int:
    total = 0
    for path in folder.glob("*/count-?"):
        with suppress(FileNotFoundError, ValueError):
            total += int(path.read_text())
    return total


def _are_over(client: LiveClient) -> bool:
    try:
        return all(job["state"] in FINAL for job in client.jobs())
    except (Unreachable, MotetError):
        return False
