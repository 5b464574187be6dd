"""`motet demo --training`: four jobs at once, each as good as a single machine's library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from marked_process import run_motet

pytestmark = [
    pytest.mark.soak,
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(900),
]

MOST_RELATIVE_GAP = {"mlr": 0.01, "nmf": 0.02, "lasso": 1e-6}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("demo")
    ended = run_motet("demo", "--training", "--out", folder, "--json", timeout_s=800)
    assert (ended.code, ended.left_running) == (0, {}), ended.err
    return json.loads(ended.out), folder


def test_every_job_comes_close_to_its_single_machine_reference(
    demo: tuple[dict[str, Any], Path],
) -> None:
    jobs = {job["app"]: job["comparison"] for job in demo[0]["jobs"]}

    assert set(jobs) == {*MOST_RELATIVE_GAP, "lda"}
    assert jobs["lda"]["reference"] is None
    for app, largest in MOST_RELATIVE_GAP.items():
        assert abs(jobs[app]["motet"] / jobs[app]["reference"] - 1) <= largest, jobs[app]


def test_every_model_is_that_of_the_same_job_alone(demo: tuple[dict[str, Any], Path]) -> None:
    for job in demo[0]["jobs"]:
        comparison = job["comparison"]
        assert comparison["motet"] == pytest.approx(comparison["alone"], rel=1e-5), job["app"]
        assert job["startup_s"] > 0


def test_the_jobs_trained_at_the_same_time(demo: tuple[dict[str, Any], Path]) -> None:
    document, _ = demo

    assert document["wall_s"] < sum(job["wall_s"] for job in document["jobs"])


def test_the_pictures_are_small_enough_for_a_page(demo: tuple[dict[str, Any], Path]) -> None:
    sizes = {path.name: path.stat().st_size for path in demo[1].iterdir()}

    assert set(sizes) == {"motet-demo.json", "motet-demo.png", "motet-demo.svg"}
    assert max(sizes.values()) < 200_000
