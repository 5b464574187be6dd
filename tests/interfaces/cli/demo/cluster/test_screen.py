"""The demo's screen: who holds which slot, and why the others wait."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from motet.interfaces.cli.demo.cluster.progress import DemoProgress
from motet.interfaces.cli.demo.cluster.screen import ClusterScreen


def job(number: int, state: str, **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "name": f"job-{number}",
        "state": state,
        "processes": 2,
        "attempts": 1,
        "reason": "",
        "message": "",
        "progress": None,
        "submitted_at": "1970-01-01T00:00:10+00:00",
        "ended_at": None,
        **more,
    }


def shown(progress: DemoProgress) -> str:
    console = Console(width=100)
    with console.capture() as screen:
        console.print(ClusterScreen(progress, "http://127.0.0.1:1", now_s=lambda: 70.0))
    return screen.get()


def test_slots_jobs_and_changes_are_on_the_screen() -> None:
    progress = DemoProgress(3)
    training = {"epochs_done": 5, "epochs": 10, "loss": 0.25}
    progress.update(
        [
            job(1, "RUNNING", progress=training, attempts=2),
            job(2, "PENDING", message="needs 2 slots, 1 is free"),
            job(3, "SUCCEEDED", ended_at="1970-01-01T00:00:15+00:00"),
        ],
        [{"name": "m0", "slots": 3, "jobs": {"1": 2}}],
    )

    lines = shown(progress).splitlines()

    assert "http://127.0.0.1:1" in lines[0]
    slots = next(line for line in lines if line.startswith(" m0"))
    assert (slots.count("job-1"), slots.count("·")) == (2, 1)
    (first,) = [line for line in lines if "RUNNING" in line]
    for part in ("loss 0.2500", "preempted once", "1:00"):
        assert part in first
    (waiting,) = [line for line in lines if "PENDING" in line]
    assert "needs 2 slots, 1 is free" in waiting
    (ended,) = [line for line in lines if "SUCCEEDED" in line]
    assert "5.0 s" in ended
    assert " job-3 has succeeded" not in lines  # It had ended before the first look.
