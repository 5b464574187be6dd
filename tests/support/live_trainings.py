"""Trainings of `held_training` on a live cluster, and what `motet train` makes of the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import held_training
from marked_process import run_motet
from motet.interfaces.client import LiveClient

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED")
PROGRAM = held_training.__file__


def ended(client: LiveClient, job: str) -> dict[str, Any]:
    """The job when its state is final."""
    while (found := client.wait(job, 30.0))["state"] not in FINAL:
        pass
    return found


def assert_succeed(client: LiveClient, jobs: list[str]) -> None:
    """All jobs; what they have logged is told of those that do not."""
    failed = [job for job in jobs if ended(client, job)["state"] != "SUCCEEDED"]
    told = [
        (client.job(job)["attempt_list"], client.log_part(job, rank=0, attempt=0, offset=0).data)
        for job in failed
    ]
    assert not failed, told


def record_of(job: dict[str, Any]) -> dict[str, Any]:
    """`run.json` of a job that has succeeded."""
    assert job["state"] == "SUCCEEDED", job
    found: dict[str, Any] = json.loads((Path(job["results"]) / "run.json").read_text())
    return found


def undisturbed(epochs: int, workers: int, servers: int) -> dict[str, Any]:
    """What `motet train --json` prints."""
    words = ["train", PROGRAM, "--data", "digits", "--epochs", str(epochs), "--set", "tol=0"]
    words += ["--workers", str(workers), "--servers", str(servers), "--json", "--quiet"]
    done = run_motet(*words, variables={"HELD_UNTIL": "/"})
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found
