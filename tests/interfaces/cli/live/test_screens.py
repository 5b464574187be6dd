"""What the commands show of jobs, from the documents of a master."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from motet.interfaces.cli.explain.live_job import explanation_page
from motet.interfaces.cli.live.screens import job_screen, jobs_table
from motet.interfaces.server.views import dated_explanation, job_explanation, job_line, job_page
from motet.live.launcher.messages import AttemptProgressed, AttemptProposed, SizeWish
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change
from motet.live.master.requests import Workplace
from scripted_cluster import ScriptedCluster

BOUNDS = {"workers": {"min": 1, "max": 6}, "servers": {"min": 1, "max": 2}}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared(("m0", "m1"), (4, 4)))
    yield found
    found.close()


def shown(content: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(content)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def sizes(cluster: ScriptedCluster, job: int) -> tuple[str, str, str]:
    """As `motet list`, `describe` and `explain` show them."""
    state = cluster.master.state
    heading, row = shown(jobs_table([job_line(state, cluster.job(job))])).splitlines()
    place = heading.index("PROCESSES") + len("PROCESSES")
    described = shown(job_screen(job_page(state, job, Workplace(cluster.folder, {}))))
    (fact,) = (line for line in described.splitlines() if line.startswith("processes"))
    document = dated_explanation(job_explanation(state, job, cluster.now_us))
    explained = shown(explanation_page(document, is_whole=True)).splitlines()[0]
    return (
        row[:place].rpartition("  ")[2].strip(),
        fact.removeprefix("processes").strip(),
        explained.split(", ")[1],
    )


def test_a_training_that_sizes_itself_shows_what_it_holds_of_its_most(
    cluster: ScriptedCluster,
) -> None:
    first = cluster.submit(processes=8)
    job = cluster.train(auto=True, **BOUNDS)
    assert sizes(cluster, job) == ("0 of 8", "0 of 8", "0 of 8 slots")
    cluster.ask(cluster.launcher.ended(f"{first}.1"))
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    assert sizes(cluster, job) == ("2 of 8", "2 of 8", "2 of 8 slots")
    cluster.ask(AttemptProposed(f"{job}.1", SizeWish(1, 4, 2, 0.25)))
    cluster.ask(cluster.launcher.ended(f"{job}.1", 75, "stopped"))
    assert sizes(cluster, job) == ("6 of 8", "6 of 8", "6 of 8 slots")
    cluster.ask(Change(job, "cancel", "ann"))
    cluster.ask(cluster.launcher.ended(f"{job}.2", None, "stopped"))
    assert sizes(cluster, job) == ("2 to 6", "2 to 6", "2 to 6 slots")


def test_a_training_that_has_ended_shows_the_one_size_that_it_had(cluster: ScriptedCluster) -> None:
    job = cluster.train(auto=True, **BOUNDS)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    assert sizes(cluster, job) == ("2", "2", "2 slots")


@pytest.mark.parametrize(
    ("spec", "epochs", "told"),
    [
        ({}, 5.0, "5 of 20 epochs, loss 0.25, converged"),
        ({}, 20.0, "20 of 20 epochs, loss 0.25"),
        ({"until": "loss=0.3"}, 5.0, "5 of 20 epochs, loss 0.25"),
    ],
)
def test_a_training_that_ended_early_by_itself_has_converged(
    cluster: ScriptedCluster, spec: dict[str, str], epochs: float, told: str
) -> None:
    job = cluster.train(epochs=20, **spec)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(AttemptProgressed(f"{job}.1", epochs, ((epochs, 0.25),)))
    workplace = Workplace(cluster.folder, {})
    page = job_page(cluster.master.state, job, workplace)
    assert not page["progress"]["has_converged"]
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    described = shown(job_screen(job_page(cluster.master.state, job, workplace)))
    (fact,) = (line for line in described.splitlines() if line.startswith("progress"))
    assert fact.removeprefix("progress").strip() == told


def test_a_training_that_never_began_shows_what_it_might_have_had(
    cluster: ScriptedCluster,
) -> None:
    cluster.submit(processes=8)
    job = cluster.train(auto=True, **BOUNDS)
    cluster.ask(Change(job, "cancel", "ann"))
    assert sizes(cluster, job) == ("up to 8", "up to 8", "up to 8 slots")


@pytest.mark.parametrize("size", [{}, {"auto": True}, {"machines": {"min": 1, "max": 2}}])
def test_other_jobs_show_one_number(cluster: ScriptedCluster, size: dict[str, Any]) -> None:
    job = cluster.train(**size)
    assert [" of " in text for text in sizes(cluster, job)] == [False] * 3


def test_a_job_of_another_user_is_described_without_what_it_runs(cluster: ScriptedCluster) -> None:
    page = job_page(cluster.master.state, cluster.submit(), Workplace(cluster.folder, {}))
    described = shown(job_screen({**page, "spec": None, "results": None, "working_folder": None}))
    facts = [line.split()[0] for line in described.splitlines() if line.strip()]
    assert {"job", "state", "user", "processes"} <= {*facts}
    assert not {"command", "of", "runs", "snapshot"} & {*facts}


@pytest.mark.parametrize(("cpus", "told"), [(1, "1 CPU"), (2, "2 CPUs")])
def test_cpus_of_each_process_are_counted(cluster: ScriptedCluster, cpus: int, told: str) -> None:
    job = cluster.submit(cpus=cpus)
    described = shown(
        job_screen(job_page(cluster.master.state, job, Workplace(cluster.folder, {})))
    )
    (fact,) = (line for line in described.splitlines() if line.startswith("of each"))
    assert fact.removeprefix("of each").strip() == told
