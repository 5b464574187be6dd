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
