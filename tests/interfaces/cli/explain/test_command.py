"""`motet explain`: the page, the document, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from blank_pictures import blank_pictures
from motet.domain.errors import BadInput, MotetError, NotFound
from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.explain.command import complete_jobs, explain_command
from motet.interfaces.cli.simulate.run import SimulateFlags, run_simulations
from small_traces import QUEUE_OF_THREE, write_trace


def simulate(folder: Path, policies: str, *, logged: bool = True, **others: Any) -> Path:
    """Three jobs, one after the other on two GPUs."""
    flags: dict[str, Any] = {
        "trace": write_trace(folder / "jobs.csv", QUEUE_OF_THREE),
        "format_name": None,
        "throughputs": None,
        "column_texts": (),
        "timezone": None,
        "time_format": None,
        "encoding": None,
        "skip_bad_rows": False,
        "machine_events": None,
        "cluster": "1x2",
        "policies": policies,
        "settings": ("placement=count",),
        "seed_text": "0",
        "seeds": None,
        "processes": 1,
        "out": folder / "out",
        "overwrite": False,
        "log_decisions": logged,
        "sweeps": (),
        "as_json": False,
        "quiet": True,
    }
    asked = SimulateFlags(**{**flags, **others})
    run_simulations(asked)
    return asked.out or folder


@pytest.fixture(scope="module", autouse=True)
def undrawn() -> Iterator[None]:
    with blank_pictures():
        yield


@pytest.fixture(scope="module")
def fifo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulate(tmp_path_factory.mktemp("fifo"), "fifo")


def printed(*arguments: object) -> str:
    result = CliRunner().invoke(motet, ["explain", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: object) -> MotetError:
    result = CliRunner().invoke(motet, ["explain", *map(str, arguments)])
    assert isinstance(result.exception, MotetError)
    return result.exception


def test_the_page_lists_waits_runs_and_totals_in_order(fifo: Path) -> None:
    heading, facts, _, _, *rows = printed("--run", fifo, "2").splitlines()
    assert heading == "job 2 under fifo: 1 GPU, finished after 2 min 30 s"
    assert facts == "submitted at 10 s, ended at 160 s, queue default"
    assert " ".join(" ".join(rows).split()) == (
        "after for "
        "0 s waited 1 min 30 s may not overtake job 1, which needs 2 GPUs; needs 1 GPU itself, "
        "none was free (place 2 in line) "
        "1 min 30 s waited 50 s needs 1 GPU, none was free at its turn (place 1 in line); ran "
        "ahead of it at first: job 1 (2 GPUs); the last GPUs before its start came from job 1 "
        "(2 GPUs) "
        "2 min 20 s ran 10 s started on m0 (1 GPU) "
        "2 min 30 s finished "
        "waited 2 min 20 s: 1 min 30 s behind the head of the line, 50 s too few free GPUs "
        "ran 10 s "
        "meanwhile GPU-hours held by job 0 (0.05), job 1 (0.0278); none of them submitted after it"
    )


def test_the_strip_shows_the_shares_of_waiting_and_running(fifo: Path) -> None:
    strip = printed("--run", fifo, "1").splitlines()[3]
    assert strip == "╌" * 48 + "━" * 24


def test_the_document_adds_up_to_the_completion_time(fifo: Path) -> None:
    document = json.loads(printed("--run", fifo, "2", "--json"))
    assert (document["submit_time"], document["end_time"], document["state"]) == (
        10,
        160,
        "finished",
    )
    waits = [chapter for chapter in document["chapters"] if chapter["kind"] == "wait"]
    assert [(wait["from"], wait["to"], wait["reason"]) for wait in waits] == [
        (10, 100, "behind_head"),
        (100, 150, "too_few_gpus"),
    ]
    assert waits[0]["blockers"] == [{"job": "1", "gpus": 2}]
    assert document["totals"] == {
        "jct_s": 150,
        "waiting_s": {"behind_head": 90, "too_few_gpus": 50},
        "running_s": 10,
        "overhead_s": 0,
        "preemptions": 0,
        "migrations": 0,
        "promotions": 0,
        "demotions": 0,
    }
    assert document["meanwhile"] == {
        "jobs": 2,
        "submitted_later": 0,
        "most": [{"job": "0", "gpu_s": 180}, {"job": "1", "gpu_s": 100}],
    }


def test_time_slices_are_folded_without_all(tmp_path: Path) -> None:
    out = simulate(
        tmp_path, "gandiva", settings=("quantum_s=1", "packing=false", "preemption_cost=0")
    )
    short, whole = (printed("--run", out, "0", *more) for more in ((), ("--all",)))
    assert "time slices of 1 s on m0, each ended by a preemption" in " ".join(short.split())
    assert "time slices of" not in whole
    assert len(short.splitlines()) < len(whole.splitlines()) / 2


def test_a_folder_of_several_runs_names_them(tmp_path: Path) -> None:
    out = simulate(tmp_path, "fifo,srtf")
    error = refused("--run", out, "0")
    assert (error.exit_code, str(out / "srtf") in str(error)) == (2, True)
    assert printed("--run", out / "srtf", "0").startswith("job 0 under srtf")


def test_the_error_for_a_run_without_a_log_has_the_remedy(tmp_path: Path) -> None:
    out = simulate(tmp_path, "fifo", logged=False)
    error = refused("--run", out, "0")
    assert (error.exit_code, "--log-decisions" in str(error)) == (2, True)


def test_a_folder_without_a_simulation_is_bad_input(tmp_path: Path) -> None:
    assert refused("--run", tmp_path, "0").exit_code == NotFound.exit_code


def test_an_unknown_job_is_not_found_and_the_near_ones_are_named(fifo: Path) -> None:
    error = refused("--run", fifo, "22")
    assert isinstance(error, NotFound)
    assert str(error).endswith("no job '22'; did you mean '2'?")


def test_the_shell_completes_job_ids_of_the_run(fifo: Path) -> None:
    ctx = explain_command.make_context("explain", ["--run", str(fifo)], resilient_parsing=True)
    for begin, ids in (("", ["0", "1", "2"]), ("2", ["2"])):
        found = complete_jobs(ctx, explain_command.params[1], begin)
        assert [item.value for item in found] == ids


def test_a_log_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--log-decisions needs --out DIR"):
        simulate(tmp_path, "fifo", out=None)


@pytest.mark.soak
def test_the_log_is_the_same_in_one_process_and_in_several(tmp_path: Path) -> None:
    alone, together = (
        simulate(
            tmp_path,
            "srtf,tiresias-las",
            processes=processes,
            out=tmp_path / str(processes),
            settings=("placement=random",),
        )
        for processes in (1, 2)
    )
    for policy in ("srtf", "tiresias-las"):
        logs = [out / policy / "decisions.jsonl" for out in (alone, together)]
        assert logs[0].read_bytes() == logs[1].read_bytes()


def test_overwriting_without_a_log_removes_the_old_one(tmp_path: Path) -> None:
    out = simulate(tmp_path, "fifo")
    assert (out / "decisions.jsonl").exists()
    simulate(tmp_path, "fifo", logged=False, overwrite=True)
    assert not (out / "decisions.jsonl").exists()


DATED = """\
job_id,num_gpus,submit_time,duration
j0,2,2026-03-28 23:59:50,100
j1,2,2026-03-29 00:00:00,50
"""


@pytest.mark.parametrize(
    ("zone", "submitted"),
    [(None, "2026-03-29 00:00:00 UTC (10 s)"), ("+02:00", "2026-03-29 00:00:00 +02:00 (10 s)")],
)
def test_times_are_dates_where_the_log_has_dates(
    zone: str | None, submitted: str, tmp_path: Path
) -> None:
    log = tmp_path / "dated.csv"
    log.write_text(DATED)
    run = simulate(tmp_path, "fifo", trace=log, format_name="table", timezone=zone)
    page = CliRunner().invoke(motet, ["explain", "--run", str(run), "j1"]).output
    assert f"submitted at {submitted}" in " ".join(page.split())
    document = json.loads(
        CliRunner().invoke(motet, ["explain", "--run", str(run), "j1", "--json"]).output
    )
    offset = zone or "+00:00"
    assert document["submitted"] == f"2026-03-29T00:00:00{offset}"
    assert document["ended"] == f"2026-03-29T00:02:20{offset}"
