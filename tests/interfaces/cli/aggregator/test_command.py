"""`motet aggregator`: what it shows of a pool, and what it says if there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from motet.domain.errors import MotetError, NotFound, UnknownName, Unreachable
from motet.interfaces.cli.commands import motet
from served_pool import ServedPool, entered, view
from waiting import wait_until


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ServedPool]:
    with ExitStack() as stack:
        yield placed(ServedPool(tmp_path, stack))


def placed(served: ServedPool) -> ServedPool:
    """With a job that has its place in the plan."""
    entered(served)
    served.control(0).steps = 25
    wait_until(lambda: view(served).jobs[0].phase == "placed")
    wait_until(lambda: view(served).aggregators[1].replicas == 2)
    return served


def said(pool: ServedPool, *arguments: str) -> str:
    command = ["aggregator", *arguments, "--address", str(pool.address)]
    result = CliRunner().invoke(motet, command, prog_name="motet", catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def document(pool: ServedPool, *arguments: str) -> Any:
    return json.loads(said(pool, *arguments, "--json"))


def test_the_list_shows_how_full_each_aggregator_is(pool: ServedPool) -> None:
    lines = [line.split() for line in said(pool, "list").splitlines()]
    assert lines[1][:6] == ["0", "running", "100", "ms", "4%", "2"]
    assert lines[1][-1] == "mlp"
    assert lines[2][:5] == ["1", "running", "-", "-", "0"]


def test_the_list_shows_how_busy_limited_links_are(tmp_path: Path) -> None:
    with ExitStack() as stack:
        pool = placed(ServedPool(tmp_path, stack, link_bps=6_400))
        lines = [line.split() for line in said(pool, "list").splitlines()]
        assert lines[0][2:6] == ["CYCLE", "USED", "LINK", "TENSORS"]
        assert lines[1][:7] == ["0", "running", "100", "ms", "4%", "90%", "2"]
        assert document(pool, "describe", "0")["aggregator"]["link_share"] == 0.9
        assert "but only 10.0% of its link" in " ".join(said(pool, "explain", "mlp").split())


def test_the_list_is_a_document_as_well(pool: ServedPool) -> None:
    first, second = document(pool, "list")["aggregators"]
    assert (first["number"], first["jobs"], first["tensors"]) == (0, ["mlp"], 2)
    assert (second["replicas"], second["cycle_ns"]) == (2, 0)
    assert said(pool, "list", "-o", "csv").splitlines()[0].startswith("number,is_running,cycle_ns")


def test_jobs_are_listed_with_their_speed_and_loss(pool: ServedPool) -> None:
    (job,) = document(pool, "jobs")["jobs"]
    assert (job["name"], job["phase"], job["aggregators"], job["alone_ns"]) == (
        *("mlp", "placed", [0]),
        100_000_000,
    )
    assert "0.0%" in said(pool, "jobs")


def test_one_aggregator_is_described_with_its_jobs(pool: ServedPool) -> None:
    assert [job["name"] for job in document(pool, "describe", "0")["jobs"]] == ["mlp"]
    assert document(pool, "describe", "1")["jobs"] == []


def test_each_tensor_is_explained(pool: ServedPool) -> None:
    assert " ".join(said(pool, "explain", "mlp", "--tensor", "w0").split()).endswith(
        "best fit: it runs once in the cycle of 100 ms and takes 2.0% of it; 96.0% are free"
    )
    assert "why there" in said(pool, "explain", "mlp", "--tensor", "w1")
    (tensor,) = document(pool, "explain", "mlp", "--tensor", "w1")["tensors"]
    assert (tensor["shape"], tensor["aggregator"], tensor["replica"]) == ([5], 0, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("describe", "7"), NotFound, "the pool has no Aggregator 7; it has: 0, 1"),
        (("drain", "7"), NotFound, "the pool has no Aggregator 7; it has: 0, 1"),
        (("explain", "mlpp"), NotFound, "did you mean 'mlp'"),
        (("explain", "mlp", "--tensor", "w7"), UnknownName, "unknown tensor 'w7'"),
    ],
)
def test_unknown_names_are_refused(
    pool: ServedPool, arguments: tuple[str, ...], error: type[MotetError], message: str
) -> None:
    with pytest.raises(error, match=message):
        said(pool, *arguments)


def test_without_a_pool_the_command_to_start_one_is_named(tmp_path: Path) -> None:
    arguments = ["aggregator", "list", "--address", str(tmp_path / "pool.json")]
    with pytest.raises(Unreachable, match="start one with 'motet aggregator start'"):
        CliRunner().invoke(motet, arguments, catch_exceptions=False)


def test_an_aggregator_leaves_on_demand(pool: ServedPool) -> None:
    assert said(pool, "drain", "0") == "Aggregator 0 has left\n"
    assert document(pool, "jobs")["jobs"][0]["aggregators"] != [0]


@pytest.mark.parametrize("command", ["start", "list", "jobs", "describe", "drain", "explain"])
def test_every_command_explains_itself(command: str) -> None:
    output = CliRunner().invoke(motet, ["aggregator", command, "--help"], prog_name="motet").output
    assert output.startswith(f"Usage: motet aggregator {command}")
