"""`motet simulate`: its document, files, table and complaints."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from marked_process import motet_process, new_motet_process, run_motet
from motet.domain.errors import BadInput, JobFailed, MotetError, UnknownName
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.interfaces.cli.simulate.policy_settings import experiments
from motet.interfaces.cli.simulate.run import SimulateFlags, run_simulations
from motet.report.simulation.stored_run import read_runs
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
from own_shared_memory import own_shared_memory
from rendered_sacct import RenderedJob, rendered
from small_traces import QUEUE_OF_THREE, write_trace

CONTRACT_COLUMNS = (
    "job_id,user,queue,num_gpus,submit_time,start_time,end_time,jct,queueing_delay,preemptions,"
    "promotions,migrations,state"
)
FIGURES = {
    *("jct_cdf.png", "utilisation.png", "queue_length.png"),
    *("jct_by_bin.png", "queueing_delay.png", "fairness.png"),
}
UNDRAWN = pytest.mark.usefixtures("undrawn")
TABLES = {"jobs.csv", "fairness.csv", "placements.csv", "timeline.csv", "summary.json"}


BROKEN_POLICY = """\
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Broken:
    memory_columns: ClassVar[dict[str, int]] = {}

    def decide(self, snapshot):
        return 1 / 0

POLICIES = {"broken": Broken}
"""
LAZY_POLICY = """\
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from motet.domain.decision import Decision, Reasons
from motet.domain.wait import Wait

@dataclass(frozen=True)
class Lazy:
    memory_columns: ClassVar[dict[str, int]] = {}

    def decide(self, snapshot):
        nothing = np.zeros_like(snapshot.jobs.gpus)
        return Decision(nothing, Reasons(nothing + int(Wait.ORDER), nothing, nothing))

POLICIES = {"lazy": Lazy}
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "jobs.csv", QUEUE_OF_THREE)


def flags(trace: Path, **others: Any) -> SimulateFlags:
    asked = {
        "trace": trace,
        "format_name": None,
        "throughputs": None,
        "column_texts": (),
        "timezone": None,
        "time_format": None,
        "encoding": None,
        "skip_bad_rows": False,
        "cluster": "1x2",
        "machine_events": None,
        "policies": "fifo",
        "settings": ("placement=count",),
        "sweeps": (),
        "seed_text": "0",
        "seeds": None,
        "processes": 1,
        "out": None,
        "overwrite": False,
        "log_decisions": False,
        "as_json": False,
        "quiet": False,
    }
    return SimulateFlags(**{**asked, **others})


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_json_is_one_document_with_a_run_per_policy_and_seed(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulations(flags(trace, policies="fifo,srtf", seed_text="1", seeds=2, as_json=True))
    runs = json.loads(capsys.readouterr().out)["runs"]

    assert [(run["policy"], run["seed"]) for run in runs] == [
        *[("fifo", 1), ("fifo", 2)],
        *[("srtf", 1), ("srtf", 2)],
    ]
    assert runs[0]["jct_s"]["median"] == 150


def test_a_named_workload_is_drawn_for_every_seed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    drawn = flags(Path("tiresias-480"), cluster="15x4", seeds=2, as_json=True)
    run_simulations(drawn)
    one, other = json.loads(capsys.readouterr().out)["runs"]
    assert one["jobs"] == other["jobs"] == 480
    assert one["jct_s"]["mean"] != other["jct_s"]["mean"]

    generated = tmp_path / "jobs.csv"
    run_motet("trace", "generate", generated, "--seed", "1")
    assert hashlib.sha256(generated.read_bytes()).hexdigest() == other["trace_sha256"]
    with pytest.raises(BadInput, match="tiresias-480 is not a file"):
        run_simulations(replace(drawn, format_name="swf"))


def test_seeds_that_can_make_no_difference_are_pointed_out(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulations(flags(trace, seeds=2))
    assert "all 2 seeds give the same result" in capsys.readouterr().err
    run_simulations(flags(trace, seeds=2, settings=("placement=random",)))
    assert "give the same result" not in capsys.readouterr().err
    run_simulations(flags(trace, seeds=2, policies="themis"))
    assert "give the same result" not in capsys.readouterr().err
    run_simulations(flags(trace, seeds=2, policies="themis", settings=("seed=3",)))
    assert "all 2 seeds give the same result" in capsys.readouterr().err


@pytest.mark.soak
def test_one_run_is_written_into_the_folder_itself(trace: Path, tmp_path: Path) -> None:
    run_simulations(flags(trace, out=tmp_path / "out"))
    files = {path.name for path in (tmp_path / "out").iterdir()}

    assert files == {*TABLES, *FIGURES, "gantt.png"}
    text = (tmp_path / "out" / "jobs.csv").read_text()
    assert text.splitlines() == [
        CONTRACT_COLUMNS,
        "0,,default,2,0,0,100,100,0,0,0,0,finished",
        "1,,default,2,0,100,150,150,100,0,0,0,finished",
        "2,,default,1,10,150,160,150,140,0,0,0,finished",
    ]


@UNDRAWN
def test_placements_and_fairness_are_exact_rows(trace: Path, tmp_path: Path) -> None:
    run_simulations(flags(trace, out=tmp_path / "out"))

    assert (tmp_path / "out" / "placements.csv").read_text().splitlines() == [
        "job_id,machine,gpus,start_time,end_time,shared_with",
        "0,m0,2,0,100,",
        "1,m0,2,100,150,",
        "2,m0,1,150,160,",
    ]
    assert [row["duration"] for row in rows_of(tmp_path / "out" / "fairness.csv")] == [
        *("100", "50", "10"),
    ]


@UNDRAWN
def test_several_runs_have_a_folder_each(trace: Path, tmp_path: Path) -> None:
    run_simulations(flags(trace, out=tmp_path / "out", policies="fifo,srtf", seed_text="0,7"))
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}

    assert folders == {"fifo-seed0", "fifo-seed7", "srtf-seed0", "srtf-seed7"}
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == FIGURES
    assert len(rows_of(tmp_path / "out" / "srtf-seed7" / "jobs.csv")) == 3


@pytest.mark.soak
def test_the_same_seed_gives_the_same_bytes(trace: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        settings = ("placement=random",)
        run_simulations(
            flags(trace, out=tmp_path / name, policies="tiresias-las", settings=settings)
        )
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.*")} for name in "ab"
    )

    assert {name for name in first if first[name] != second[name]} == {
        "summary.json"
    }  # times of the command itself


@UNDRAWN
def test_the_summary_contains_the_command_of_the_run(trace: Path, tmp_path: Path) -> None:
    run_simulations(flags(trace, out=tmp_path / "out"))
    setup = json.loads((tmp_path / "out" / "summary.json").read_text())["setup"]

    assert (setup["trace"], setup["format"], setup["cluster"]) == (str(trace), "tiresias", "1x2")
    assert setup["runs"] == [
        {"name": "fifo", "policy": "fifo", "settings": {"placement": "count"}, "seed": 0}
    ]


@UNDRAWN
def test_results_are_not_overwritten_without_the_option(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_simulations(flags(trace, out=out, policies="fifo,srtf"))
    (out / "fifo" / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"results of a simulation already; .* --overwrite"):
        run_simulations(flags(trace, out=out))
    run_simulations(flags(trace, out=out, overwrite=True))

    left = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert left == {*TABLES, *FIGURES, "gantt.png", "fifo/notes.txt"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_trace_survives_a_simulation_into_its_own_folder(trace: Path, overwrite: bool) -> None:
    before = trace.read_bytes()
    with pytest.raises(BadInput, match=r"jobs\.csv is being read and would be lost"):
        run_simulations(flags(trace, out=trace.parent, overwrite=overwrite))

    assert trace.read_bytes() == before


def test_a_second_simulation_into_the_same_folder_is_refused(trace: Path, tmp_path: Path) -> None:
    given = ("--trace", trace, "--cluster", "1x2", "--policy", "fifo", "--out", tmp_path / "out")
    with locked_folder(tmp_path / "out"):
        ended = run_motet("simulate", *given)

    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"another run writes there (process {os.getpid()}); wait until it has ended" in ended.err
    assert list((tmp_path / "out").iterdir()) == []
    assert run_motet("simulate", *given).code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*TABLES, *FIGURES, "gantt.png"}


def test_a_folder_without_a_name_is_not_the_current_one(trace: Path) -> None:
    given = ("--trace", str(trace), "--cluster", "1x2", "--policy", "fifo", "--out", "")
    ended = run_motet("simulate", *given)

    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "the folder has no name" in ended.err


def test_the_table_has_a_row_per_policy_as_named_and_no_interval_if_seeds_agree(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulations(flags(trace, policies="srtf,fifo", seeds=3))
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("●")]

    assert lines[0] == "3 jobs of jobs.csv on 2 GPUs (1x2)"
    assert [row.split()[1] for row in rows] == ["srtf", "fifo"] * 2
    assert not any("±" in line for line in lines)
    assert any("All 3 seeds give the same result, so there are no int" in line for line in lines)


def test_drawn_traces_have_intervals_over_seeds(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = flags(Path("optimus-50"), policies="srtf,fifo", seeds=2, cluster="15x4")
    run_simulations(drawn)
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("●")]

    assert all("±" in row for row in rows)
    assert any("95% confidence interval of the mean over 2 seeds" in line for line in lines)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("thresholds=10",), {"fifo": {}, "tiresias-las": {"thresholds": "10"}}),
        (
            ("placement=count", "fifo.placement=random"),
            {"fifo": {"placement": "random"}, "tiresias-las": {"placement": "count"}},
        ),
        (
            ("tiresias-las.thresholds=3200,7200",),
            {"fifo": {}, "tiresias-las": {"thresholds": "3200,7200"}},
        ),
    ],
)
def test_a_setting_applies_to_the_named_policy_or_to_all_that_have_it(
    settings: tuple[str, ...], expected: dict[str, dict[str, str]]
) -> None:
    from motet.interfaces.cli.simulate.policy_settings import experiments

    found = experiments("fifo,tiresias-las", settings, [0])

    assert {experiment.policy: experiment.settings for experiment in found} == expected


@UNDRAWN
def test_a_sweep_runs_every_value_of_a_parameter_with_every_seed(
    trace: Path, tmp_path: Path
) -> None:
    run_simulations(
        flags(
            trace,
            policies="fifo,tiresias-las",
            sweeps=("thresholds=10:10,20:",),
            seeds=2,
            out=tmp_path / "out",
        )
    )
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    swept = [run.get("sweep", {}).get("value") for run in summary["runs"]]

    assert folders == {
        *("fifo-seed0", "fifo-seed1"),
        *("tiresias-las-thresholds=10-seed0", "tiresias-las-thresholds=10-seed1"),
        *("tiresias-las-thresholds=10,20-seed0", "tiresias-las-thresholds=10,20-seed1"),
        *("tiresias-las-thresholds=none-seed0", "tiresias-las-thresholds=none-seed1"),
    }
    assert swept == [None, None, "10", "10", "10,20", "10,20", "", ""]
    assert [run["params"].get("thresholds") for run in summary["runs"]][4:] == [
        *([10, 20], [10, 20], [], []),
    ]
    assert summary["setup"]["runs"][2]["swept"] == "thresholds"
    assert (tmp_path / "out" / "sweep_thresholds.png").exists()

    run_simulations(flags(trace, out=tmp_path / "out", overwrite=True))
    assert not (tmp_path / "out" / "sweep_thresholds.png").exists()


def test_the_table_of_a_sweep_has_a_row_per_value(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulations(
        flags(trace, policies="fifo,tiresias-las", sweeps=("promote_knob=1:inf",), seeds=2)
    )
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[1:3] for line in lines if line.startswith("●")]

    assert "promote_knob" in lines[2]
    assert rows[:3] == [["fifo", "133.3"], ["tiresias-las", "1"], ["tiresias-las", "inf"]]
    assert [row[0] for row in rows[3:]] == ["fifo", "tiresias-las", "tiresias-las"]


def test_a_sweep_of_one_policy_does_not_change_the_others(trace: Path) -> None:
    from motet.interfaces.cli.simulate.policy_settings import experiments

    found = experiments("fifo,sf", ("placement=count",), [0], ("sf.pack_limit=0.1:0.2",))

    assert [(run.policy, run.settings.get("pack_limit"), run.swept) for run in found] == [
        *[("fifo", None, None), ("sf", "0.1", "pack_limit"), ("sf", "0.2", "pack_limit")],
    ]


@UNDRAWN
def test_values_that_no_folder_can_be_named_for_get_folders_all_the_same(
    trace: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("30\n60\n")
    sweep = f"history=@{tmp_path}/a:@{tmp_path}/b"
    run_simulations(
        flags(trace, policies="tiresias-gittins", sweeps=(sweep,), out=tmp_path / "out")
    )
    folders = [path.name for path in (tmp_path / "out").iterdir() if path.is_dir()]

    assert len(folders) == 2
    assert all(name.startswith("tiresias-gittins-history=_") for name in folders)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policies": "fifo,tireias-las"}, "did you mean 'tiresias-las'"),
        ({"policies": "fifo,fifo"}, "fifo is named twice"),
        ({"policies": ","}, "names no policy"),
        ({"policies": "./nothing.py"}, "no such file"),
        ({"settings": ("thresholds=1",)}, "unknown parameter of fifo 'thresholds'"),
        ({"settings": ("placement=count", "placement=skew")}, "given twice"),
        ({"settings": ("placement",)}, "write NAME=VALUE"),
        ({"settings": ("srtf.placement=count",)}, "unknown policy of this run 'srtf'"),
        ({"settings": ("placement=corner",)}, "unknown placement 'corner'"),
        ({"sweeps": ("placement",)}, "--sweep placement: write NAME=V1:V2:V3"),
        ({"sweeps": ("placement=count",)}, "at least two values"),
        ({"sweeps": ("pack_limit=0:0",)}, "a value is given twice"),
        ({"sweeps": ("preemption_cost=0:-1",)}, "preemption_cost=-1: give profile or seconds"),
        ({"sweeps": ("pack_limit=0:x",)}, "^--sweep pack_limit=0:x: pack_limit=x: give"),
        ({"sweeps": ("pack_limit=0:1",), "settings": ("preemption_cost=x",)}, "^preemption_cost=x"),
        ({"settings": ("rescale_cost=x",)}, "^rescale_cost=x: give profile, preemption or sec"),
        ({"settings": ("preemption_cost=1e99",)}, "^preemption_cost=1e99: give profile or sec"),
        (
            {"policies": "themis,tetris", "settings": ("fairness=1",)},
            "^tetris: fairness=1.0: give a part",
        ),
        (
            {"policies": "slaq", "sweeps": ("epoch_s=5:abc",)},
            "^--sweep epoch_s=5:abc: slaq: epoch_s=abc: give a number$",
        ),
        ({"sweeps": ("thresholds=1:2",)}, "unknown parameter of fifo 'thresholds'"),
        ({"sweeps": ("srtf.pack_limit=0:1",)}, "unknown policy of this run 'srtf'"),
        ({"sweeps": ("placement=count:skew",)}, "placement is set as well"),
        ({"sweeps": ("pack_limit=0:1", "preemption_cost=0:1")}, "one parameter at a time"),
        ({"cluster": "many"}, "MACHINESxGPUS"),
        ({"seed_text": "one"}, "different whole numbers"),
        ({"seed_text": "1,1"}, "different whole numbers"),
        ({"seed_text": "1,2", "seeds": 3}, "give one of the two"),
        ({"cluster": "1x1"}, r"jobs.csv:2: .*2 GPUs, the cluster has 1"),
        ({"format_name": "tiresia"}, "did you mean 'tiresias'"),
    ],
    ids=str,
)
def test_invalid_input_is_refused(trace: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((BadInput, UnknownName), match=message):
        run_simulations(flags(trace, **wrong))


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("slaq-999", "--trace slaq-999: no such file; did you mean 'slaq-160'"),
        ("nowhere.csv", "no such file; built-in workloads: tiresias-480, .*slaq-160"),
    ],
)
def test_a_trace_that_is_not_there_is_perhaps_a_workload(missing: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run_simulations(flags(Path(missing)))


def test_the_command_prints_one_document_and_leaves_nothing_running(trace: Path) -> None:
    ended = run_motet(
        *("simulate", "--trace", trace, "--cluster", "1x2", "--policy", "fifo,srtf"),
        *("--set", "placement=count", "--jobs", "2", "-o", "json", "-q"),
    )

    assert (ended.code, ended.err, ended.left_running) == (0, "", {})
    assert [run["finished"] for run in json.loads(ended.out)["runs"]] == [3, 3]


@pytest.mark.soak
def test_a_policy_that_fails_in_a_process_is_one_line_and_exit_code_1(
    trace: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(BROKEN_POLICY)
    ended = run_motet(
        *("simulate", "--trace", trace, "--cluster", "1x2", "--policy", f"fifo,{mine}"),
        *("--jobs", "2"),
    )

    assert (ended.code, ended.out, ended.left_running) == (1, "", {})
    last = ended.err.splitlines()[-1]
    assert last == f"motet: error: {mine}:9 in decide: ZeroDivisionError: division by zero"


@UNDRAWN
def test_runs_that_finished_are_kept_when_a_later_one_fails(trace: Path, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.py", tmp_path / "out"
    mine.write_text(BROKEN_POLICY)
    with pytest.raises(MotetError, match="division by zero"):
        run_simulations(flags(trace, policies=f"fifo,{mine},srtf", out=out))
    assert [stored.document["policy"] for stored in read_runs(out)] == ["fifo"]

    run_simulations(flags(trace, policies="srtf,fifo", out=out, overwrite=True))
    assert [stored.document["policy"] for stored in read_runs(out)] == ["srtf", "fifo"]


def test_every_run_that_finishes_is_a_line_where_there_is_no_terminal(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulations(flags(trace, policies="fifo,srtf"))
    lines = capsys.readouterr().err.splitlines()
    run_simulations(flags(trace, policies="fifo,srtf", quiet=True))

    assert sorted(line.split(" in ")[0] for line in lines) == ["fifo: finished", "srtf: finished"]
    assert capsys.readouterr().err == ""


@UNDRAWN
def test_a_policy_that_starts_no_job_is_an_error_after_the_results(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "lazy.py"
    mine.write_text(LAZY_POLICY)
    with pytest.raises(JobFailed, match=r"^lazy: no job ever got GPUs, of 3 jobs"):
        run_simulations(flags(trace, policies=f"{mine},fifo", out=tmp_path / "out"))
    told = capsys.readouterr()

    assert "lazy: 3 of 3 jobs did not finish: the policy gives them no GPUs" in told.err
    assert "left: jobs unfinished" in told.out
    rows = rows_of(tmp_path / "out/lazy/jobs.csv")
    assert [row["state"] for row in rows] == ["waiting"] * 3
    assert {(row["start_time"], row["end_time"], row["preemptions"]) for row in rows} == {
        ("", "", "0")
    }
    summary = json.loads((tmp_path / "out/lazy/summary.json").read_text())
    assert summary["runs"][0]["finished"] == 0
    assert summary["runs"][0]["jct_s"]["mean"] is None


def test_bad_input_is_one_line_and_exit_code_2(trace: Path) -> None:
    ended = run_motet("simulate", "--trace", trace, "--cluster", "1x2", "--policy", "fifio")

    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1


def endless_run(tmp_path: Path) -> tuple[str | Path, ...]:
    """Arguments of a simulation of which the second policy ends soon and the first one never."""
    endless = [(0, 10**8 + number, 1) for number in range(40)]
    trace = write_trace(tmp_path / "jobs.csv", endless)
    return (
        *("simulate", "--trace", trace, "--cluster", "1x2", "--policy", "tiresias-las,sf"),
        *("--set", "tiresias-las.thresholds=", "--set", "quantum_s=1", "--jobs", "2"),
        *("--out", tmp_path / "out"),
    )


@pytest.mark.soak
def test_ctrl_c_leaves_no_semaphore(tmp_path: Path) -> None:
    with own_shared_memory() as memory:
        running = new_motet_process(*endless_run(tmp_path), entering=memory.entering)
        # The supervisor, the command, the tracker of multiprocessing and two processes of the pool:
        # before, a semaphore may exist that the tracker has not been told of.
        running.wait_until(lambda: len(running.descendants()) >= 5)
        assert memory.segments() != []
        assert running.end(signal.SIGINT)[0] == 130
        assert running.descendants() == {}
        assert memory.segments() == []


@pytest.mark.soak
def test_ctrl_c_ends_all_runs_at_once_and_keeps_those_that_finished(tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = motet_process(*endless_run(tmp_path))
    running.wait_until((out / "summary.json").exists)
    code, printed, err = running.end(signal.SIGINT)

    assert (code, printed) == (130, "")
    assert "Traceback" not in err
    assert running.descendants() == {}
    assert [stored.document["policy"] for stored in read_runs(out)] == ["sf"]
    assert f"1 of 2 runs is finished and kept: motet compare {out}" in err


def test_a_killed_command_leaves_no_process(tmp_path: Path) -> None:
    endless = [(0, 10**8 + number, 1) for number in range(40)]
    running = motet_process(
        *("simulate", "--trace", write_trace(tmp_path / "jobs.csv", endless), "--cluster", "1x2"),
        *("--policy", "tiresias-las,tiresias-gittins", "--set", "quantum_s=1", "--jobs", "2"),
    )
    # The supervisor, the command, the tracker of multiprocessing and two processes of the pool.
    running.wait_until(lambda: len(running.descendants()) >= 5)
    running.process.kill()
    running.wait_until(lambda: running.descendants() == {}, timeout_s=60.0)


@pytest.mark.soak
def test_a_sweep_without_waits_is_plotted(trace: Path, tmp_path: Path) -> None:
    idle = {"cluster": "4x2", "policies": "tiresias-las", "sweeps": ("promote_knob=1:2",)}
    run_simulations(flags(trace, **idle, out=tmp_path / "out"))
    assert (tmp_path / "out" / "sweep_promote_knob.png").stat().st_size > 1000


@pytest.mark.soak
def test_output_of_a_policy_does_not_reach_the_document(trace: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    talkative = LAZY_POLICY.replace("nothing = np", "print('hello'); nothing = np", 1)
    mine.write_text(f"{talkative}print('loaded')\n")
    for processes in ("1", "2"):
        ended = run_motet(
            *("simulate", "--trace", trace, "--cluster", "1x2", "--policy", f"{mine},fifo"),
            *("--jobs", processes, "--json"),
        )
        assert len(json.loads(ended.out)["runs"]) == 2
        assert "hello" in ended.err
        assert "loaded" in ended.err


def test_types_of_gpus_without_measurements_are_pointed_out(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = tmp_path / "cluster.csv"
    cluster.write_text("count,gpus,type\n1,2,V100\n1,2,V10O\n")
    run_simulations(flags(trace, cluster=str(cluster), settings=()))
    assert "no speeds are known for GPUs of type V10O" in capsys.readouterr().err
    run_simulations(flags(trace, settings=("placement=ilp",)))
    assert "solves an integer program" in capsys.readouterr().err


def test_all_stands_for_every_built_in_policy() -> None:
    names = [each.policy for each in experiments("all", (), [0])]

    assert names == list(built_in_policies())
    assert [each.policy for each in experiments("all,./examples/longest_waiting.py", (), [0])] == [
        *names,
        "./examples/longest_waiting.py",
    ]
    with pytest.raises(BadInput, match="fifo is named twice"):
        experiments("all,fifo", (), [0])


def test_policies_without_what_they_need_say_so_in_the_table(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_simulations(flags(trace, policies="fifo,slaq", quiet=True))
    page = capsys.readouterr().out

    assert "● slaq*" in page
    assert "● fifo " in page
    assert "* slaq: no loss curves in the log: all progress alike" in page


def test_the_completion_times_of_the_log_are_in_the_heading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump.txt"
    jobs = [RenderedJob("1", 0, (100,), (1,)), RenderedJob("2", 0, (300,), (1,), wait_s=200)]
    path.write_text(rendered(jobs, zone=UTC))
    run_simulations(flags(path, timezone="UTC", quiet=True))

    heading = "In the log: JCT mean 330.0, median 330.0, 95th 483.0, delay 130.0"
    assert heading in capsys.readouterr().out


@UNDRAWN
def test_columns_and_zones_are_for_files_and_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "site.csv"
    path.write_text("Job,GPUs,Submitted,Elapsed\na,1,2024-03-01T10:00:00,1:30:00\n")
    names = ("job_id=Job,num_gpus=GPUs,submit_time=Submitted,duration=Elapsed",)
    given = {"column_texts": names, "timezone": "Europe/Berlin"}
    run_simulations(flags(path, **given, out=tmp_path / "run", as_json=True))

    assert json.loads(capsys.readouterr().out)["runs"][0]["makespan_s"] == 5400
    setup = json.loads((tmp_path / "run" / "summary.json").read_text())["setup"]
    assert (setup["columns"]["num_gpus"], setup["timezone"]) == ("GPUs", "Europe/Berlin")
    with pytest.raises(
        BadInput,
        match=r"is not a file; .* --time-format and --skip-bad-rows need a file",
    ):
        run_simulations(flags(Path("tiresias-480"), **given))
