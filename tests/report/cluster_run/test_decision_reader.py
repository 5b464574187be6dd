"""Reading the decision log: GPUs that jobs held, events of a job, damaged lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.insight.holders.meanwhile import HeldGpus
from motet.report.cluster_run.decision_reader import held_gpus_during, story_events_of

S = 1_000_000


def line(time: float, job: str, event: str, gpus: int, **more: Any) -> str:
    return json.dumps({"time": time, "job": job, "event": event, "gpus": gpus, **more})


LOG = [
    line(0, "a", "start", 2),
    line(1, "b", "wait", 4, reason="too_few_gpus", free_gpus=0),
    line(2, "a", "demote", 2, priority_queue=2),
    line(5, "a", "resize", 4),
    line(9, "a", "preempt", 4),
    line(9, "b", "start", 4),
    line(12.5, "b", "finish", 4, overhead=1.5),
    line(12.5, "a", "resume", 4),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.jsonl"
    path.write_text("\n".join(LOG) + "\n")
    return path


def test_a_hold_lasts_until_the_next_start_resize_preemption_or_end(log: Path) -> None:
    assert list(held_gpus_during(log, 0, None)) == [
        HeldGpus("a", 2, 0, 5 * S),
        HeldGpus("a", 4, 5 * S, 9 * S),
        HeldGpus("b", 4, 9 * S, 12_500_000),
        HeldGpus("a", 4, 12_500_000, None),
    ]


def test_holds_outside_of_the_time_span_are_left_out(log: Path) -> None:
    held = list(held_gpus_during(log, 5 * S, 12 * S))

    assert [(each.job, each.from_us) for each in held] == [("a", 5 * S), ("b", 9 * S)]
    assert held[-1].to_us is None


def test_events_are_of_one_job_with_exact_times(log: Path) -> None:
    events = story_events_of(log, "b")

    assert [each.event for each in events] == ["wait", "start", "finish"]
    assert events[0].reason == "too_few_gpus"
    assert (events[2].time_us, events[2].overhead_us) == (12_500_000, 1_500_000)
    assert story_events_of(log, "c") == []


@pytest.mark.parametrize("damaged", ['{"time": 3, "job": "a", "event": ', '{"time": 3}', "[]"])
def test_a_damaged_line_is_refused_with_its_number(log: Path, damaged: str) -> None:
    log.write_text("\n".join([*LOG[:2], damaged, *LOG[2:]]) + "\n")

    with pytest.raises(BadInput, match=r"decisions\.jsonl:3: no entry of a decision log"):
        list(held_gpus_during(log, 0, None))
