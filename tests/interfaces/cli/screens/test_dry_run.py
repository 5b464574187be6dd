"""What `motet submit --dry-run` says of the size of a job."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from motet.interfaces.cli.screens.dry_run import dry_run_screen
from motet.interfaces.forecasts.dry_runs.dry_run import size_document
from motet.live.jobs.job_file import job_spec

TRAINING = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}
COMMAND = {"name": "fit", "run": "true", "workdir": "/"}
AT_ONCE = {"low_s": 0.0, "median_s": 0.0, "high_s": 0.0, "unknown_because": ""}


def told(document: dict[str, Any]) -> str:
    found = {
        "name": "fit",
        "policy": "fifo",
        "jobs": 1,
        "now": "1970-01-01T00:00:00+00:00",
        "expected_start": AT_ONCE,
        "run_time_s": None,
        "delayed": [],
        "delayed_unknown_because": "",
        **document,
    }
    output = io.StringIO()
    Console(file=output, width=200).print(dry_run_screen(found))
    return output.getvalue()


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({**COMMAND}, "fit, 1 process, policy fifo"),
        ({**COMMAND, "processes": 4}, "fit, 4 processes, policy fifo"),
        ({**TRAINING, "workers": 2, "servers": 2}, "fit, 4 processes, policy fifo"),
        ({**TRAINING, "workers": 3, "auto": True}, "fit, 4 processes, policy fifo"),
        (
            {**TRAINING, "workers": {"min": 1, "max": 3}, "auto": True},
            "fit, 2 processes at first, up to 4, policy fifo",
        ),
        ({**TRAINING, "workers": {"min": 1, "max": 3}}, "fit, 2 to 4 processes, policy fifo"),
        ({**TRAINING, "machines": 2}, "fit, 2 processes, policy fifo"),
        ({**TRAINING, "machines": {"min": 2, "max": 4}}, "fit, 2 to 4 processes, policy fifo"),
        ({**TRAINING, "machines": "any"}, "fit, a process on each of 1 machine or more, policy"),
    ],
)
def test_it_says_with_how_many_processes_a_job_begins_and_may_grow_to(
    job: dict[str, Any], words: str
) -> None:
    spec = job_spec(job)
    assert words in told({"processes": spec.processes, **size_document(spec)})


def test_a_server_of_the_version_before_tells_the_most_processes_only() -> None:
    assert "fit, 4 processes, policy fifo" in told({"processes": 4})


def test_a_range_of_few_simulations_says_what_it_is_worth() -> None:
    cut = told({"processes": 1, "simulations": 12, "coverage": 11 / 13})
    assert "from 12 simulations, more take too long: 84 % of such starts" in cut
    for usual in ({"simulations": 19, "coverage": 0.9}, {"simulations": 0, "coverage": None}, {}):
        assert "simulations" not in told({"processes": 1, **usual})
