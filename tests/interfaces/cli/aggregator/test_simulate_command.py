"""`motet aggregator simulate`: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.cli.commands import motet

LOG = """\
job_id,submit_time,num_gpus,duration,model,queue
a,0,8,2000,vgg19,prod
b,100,8,500,alexnet,test
c,200,1,900,bert,test
=d,700,4,900,vgg19,test
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(LOG)
    return path


def run(*arguments: object) -> str:
    words = ["aggregator", "simulate", "--trace", *map(str, arguments)]
    result = CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def document_of(*arguments: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return document


def test_the_page_compares_aggregators_with_servers(log: Path) -> None:
    page = run(log)
    assert "3 distributed of 4 jobs of jobs.csv" in page
    assert "servers of each job's own" in page
    assert "below 1 for" in page


def test_the_document_has_the_hours_of_servers_and_all_settings(log: Path) -> None:
    document = document_of(log, "--loss-limit", "0.2", "--period", "5m")
    hours = (2 * 2000 + 2 * 500 + 900) / 3600
    assert document["summary"]["server_hours"] == pytest.approx(hours)
    assert document["setup"]["loss_limit"] == 0.2
    assert document["setup"]["period_s"] == 300


def test_a_part_of_the_log_can_be_simulated(log: Path) -> None:
    summary = document_of(log, "--skip", "1000", "--span", "100")["summary"]
    assert summary["jobs"] == 2
    assert summary["server_hours"] == pytest.approx(3 * 100 / 3600)


def test_aggregators_are_no_fuller_than_their_links(log: Path) -> None:
    fast, slow = (document_of(log, "--bandwidth", rate) for rate in ("100gbit", "20gbit"))
    without = document_of(log)
    assert fast["summary"] == without["summary"]
    assert slow["setup"]["bandwidth"] == "20gbit"
    assert slow["summary"]["aggregator_hours"] > 1.1 * fast["summary"]["aggregator_hours"]
    assert slow["summary"]["server_hours"] == fast["summary"]["server_hours"]


def test_a_queue_with_a_limit_of_its_own_is_reported(log: Path) -> None:
    assert "in queue prod" in run(log, "--queue-loss-limit", "prod=0.02")


def test_the_folder_has_the_steps_the_jobs_and_a_figure(log: Path, tmp_path: Path) -> None:
    run(log, "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"pool.png", "pool.csv", "jobs.csv", "summary.json"}
    with (tmp_path / "out" / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["job_id"] for row in rows] == ["a", "b", "'=d"]
    assert [row["model"] for row in rows] == ["VGG19", "AlexNet", "VGG19"]
    with (tmp_path / "out" / "pool.csv").open() as file:
        steps = list(csv.DictReader(file))
    assert (steps[0]["servers"], steps[0]["aggregators"]) == ("2", "2")
    assert (steps[-1]["servers"], steps[-1]["aggregators"]) == ("0", "0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--least-gpus", "9"], "no job has 9 GPUs or more; lower --least-gpus"),
        (["--skip", "1d"], "no job in this part of the log"),
        (["--bandwidth", "20"], "--bandwidth: '20' is not a bandwidth; write 50mbit"),
        (["--queue-loss-limit", "prod"], "--queue-loss-limit prod: give QUEUE=X"),
        (["--queue-loss-limit", "prod=2"], "--queue-loss-limit prod=2: give QUEUE=X"),
    ],
)
def test_what_cannot_be_simulated_is_refused(log: Path, options: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(log, *options)


def test_an_unknown_queue_is_refused(log: Path) -> None:
    with pytest.raises(UnknownName, match="unknown queue 'prd'"):
        run(log, "--queue-loss-limit", "prd=0.1")
