"""`motet plan`: profiles of runs and files, machines, what it prints and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.cli.plan.command import plan

JOB = {
    "instances": 60_000,
    "batch_size": 3_000,
    "comp_s_per_instance": 4e-4,
    "exchange_bytes": 12e6,
    "bandwidth_mbps": 400,
    "data_blocks": 480,
}
RUN = {
    "epochs": 10,
    "instances": 1_000,
    "mini_batches": 5,
    "comp_s": 20.0,
    "comm_s": 10.0,
    "bytes_pulled": 60_000_000,
    "bytes_pushed": 40_000_000,
    "epoch_s": [3.1] * 10,
    "options": {"machines": 4, "workers": 2, "servers": 2, "worker_batch_size": None},
}
TYPES = {
    "types": [
        {"name": "fast", "count": 4, "speed": 2, "bandwidth_mbps": 800},
        {"name": "slow", "count": 12},
    ],
    "bandwidths": [{"worker": "fast", "server": "slow", "bandwidth_mbps": 300}],
}


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def planned(*arguments: Path | str) -> Result:
    return CliRunner().invoke(plan, list(map(str, arguments)), catch_exceptions=False)


def document_of(*arguments: Path | str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(planned(*arguments, "--json").stdout)
    return document


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write(tmp_path / "job.yaml", JOB)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "run.json", RUN)
    return folder


def test_a_file_and_a_number_of_machines_give_the_closed_forms_optimum(job: Path) -> None:
    document = document_of("--profile", job, "--machines", "16")
    exchange_s = 12e6 / 50e6
    costs_s = [24 / w + 20 * exchange_s * max(1, w / (16 - w)) for w in range(1, 16)]
    assert (document["workers"], document["servers"]) == (8, 8)
    assert document["epoch_s"] == pytest.approx(min(costs_s))
    assert document["curve"]["workers"] == list(range(1, 16))
    assert document["curve"]["epoch_s"] == pytest.approx(costs_s, rel=0.01)


def test_a_run_gives_its_own_rates_and_its_prediction_of_itself(run: Path) -> None:
    document = document_of("--profile", run)
    # 20 s of COMP for 10 epochs of 500 instances; 10 s of COMM for 50 exchanges of 1 MB, half of
    # it on each server's link, for two workers: 1 MB in 0.2 s.
    assert document["types"][0]["comp_s_per_instance"] == pytest.approx(4e-3)
    assert document["profile"]["exchange_bytes"] == pytest.approx(1e6)
    assert document["bandwidth_bytes_per_s"] == [[pytest.approx(5e6)]]
    assert document["run"]["predicted_s"] == pytest.approx(3.0, rel=0.01)
    assert document["run"]["measured_s"] == pytest.approx(3.1)
    assert document["machines"] == 4


def test_a_batch_per_worker_is_taken_from_the_run(tmp_path: Path) -> None:
    options = {"machines": 4, "workers": 2, "servers": 2, "worker_batch_size": 100}
    profile = write(tmp_path / "run.json", {**RUN, "options": options})
    found = document_of("--profile", profile)["profile"]
    assert (found["batch_size"], found["is_batch_global"]) == (100, False)


def test_types_of_machines_get_parts_of_their_own(job: Path, tmp_path: Path) -> None:
    types = write(tmp_path / "types.json", TYPES)
    document = document_of("--profile", job, "--machines", types)
    assert [part["name"] for part in document["types"]] == ["fast", "slow"]
    assert document["types"][0]["comp_s_per_instance"] == pytest.approx(2e-4)
    assert document["bandwidth_bytes_per_s"] == [[100e6, 37.5e6], [50e6, 50e6]]
    assert sum(document["configuration"]["data_blocks"]) == 480
    assert sum(part["workers"] for part in document["types"]) == document["workers"]


def test_a_faster_network_can_be_planned_for(run: Path) -> None:
    slow, fast = (
        document_of("--profile", run, "--machines", "8", "--bandwidth", mbps)
        for mbps in ("10", "1000")
    )
    assert fast["workers"] > slow["workers"]
    assert fast["epoch_s"] < slow["epoch_s"]


def test_both_roles_use_every_machine_twice(job: Path) -> None:
    document = document_of("--profile", job, "--machines", "8", "--roles", "both")
    assert (document["workers"], document["servers"]) == (8, 8)


def test_the_page_shows_the_configuration_and_the_curve(run: Path) -> None:
    lines = planned("--profile", run).stdout.splitlines()
    assert lines[0].startswith("● 2 workers, 2 servers on 4 machines: 3.0 s per epoch")
    assert any("▲" in line for line in lines)
    assert any("3.1 s measured" in line for line in lines)


def test_the_folder_gets_the_document_and_a_picture(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = planned("--profile", job, "--machines", "16", "--out", out, "--json").stdout
    assert json.loads((out / "plan.json").read_text()) == json.loads(shown)
    assert (out / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instances": "many"}, "instances is 'many'; give a whole number, at least 1"),
        ({"batch_size": 0}, "batch_size is 0; give a whole number"),
        ({"comp_s_per_instance": -1}, "comp_s_per_instance is -1; give a number above 0"),
        ({"exchange_bytes": None}, "exchange_bytes is missing"),
        ({"worker_batch_size": 10}, "give batch_size or worker_batch_size, not both"),
        ({"bandwith_mbps": 1}, "did you mean 'bandwidth_mbps'"),
    ],
)
def test_a_bad_field_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    job = write(tmp_path / "job.yaml", {**JOB, **change})
    with pytest.raises(BadInput, match=said):
        planned("--profile", job, "--machines", "4")


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        ("0", "--machines 0: give 1 to 10,000 machines"),
        ("-3", "--machines -3: give 1 to 10,000 machines"),
        ("1", "a worker and a server need 2"),
    ],
)
def test_a_bad_number_of_machines_is_refused(job: Path, machines: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        planned("--profile", job, "--machines", machines)


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ([], "not a mapping"),
        ({"types": []}, "0 types; give 1 to 8"),
        ({"types": [{"name": "a"}, {"name": "a"}]}, "two types have the same name"),
        ({"types": [{"name": "a", "cores": 3}]}, "entry 1: unknown field 'cores'"),
        ({"types": [{"name": "a", "count": 2.5}]}, "count is 2.5; give a whole number"),
        (
            {**TYPES, "bandwidths": [{"worker": "fsat", "server": "slow", "bandwidth_mbps": 1}]},
            "unknown type 'fsat'; did you mean 'fast'",
        ),
    ],
)
def test_a_bad_file_of_types_is_refused(
    job: Path, tmp_path: Path, types: object, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        planned("--profile", job, "--machines", write(tmp_path / "types.yaml", types))


def test_missing_machines_are_an_error(job: Path) -> None:
    with pytest.raises(BadInput, match="--machines is missing"):
        planned("--profile", job)


def test_files_that_do_not_exist_are_not_found(job: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        planned("--profile", tmp_path / "nowhere")
    with pytest.raises(NotFound, match=r"types\.yaml: neither a number nor an existing file"):
        planned("--profile", job, "--machines", tmp_path / "types.yaml")


def test_text_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "job.yaml"
    broken.write_text("instances: [1")
    with pytest.raises(BadInput, match="no YAML or JSON"):
        planned("--profile", broken)


def test_a_run_on_one_machine_teaches_nothing_about_the_network(tmp_path: Path) -> None:
    options = {"machines": 1, "workers": 1, "servers": 1, "worker_batch_size": None}
    alone = write(tmp_path / "run.json", {**RUN, "options": options})
    with pytest.raises(BadInput, match="no bandwidth is known; give --bandwidth MBPS"):
        planned("--profile", alone, "--machines", "4")
    assert document_of("--profile", alone, "--machines", "4", "--bandwidth", "100")["workers"] > 0
