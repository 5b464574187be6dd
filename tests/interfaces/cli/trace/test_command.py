"""`motet trace`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.shell.exits import exit_code_of
from motet.sim.known_names import WORKLOAD_NAMES
from motet.sim.traces import read_trace

TIRESIAS = """\
job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,0,606,vgg19,7200,30
1,8,3600,133,vgg11,3600.000001,23
"""
BAD = "job_id,submit_time,num_gpus,duration\na,0,1,5\nb,0,9,5\nc,0,1,-5\n"


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "in.csv"
        path.write_text(text)
        return path

    return write


FileOf = Callable[[str], Path]
NAMES = [
    pytest.param(name, marks=pytest.mark.soak) if name == "helios-year" else name
    for name in WORKLOAD_NAMES
]


def run(*arguments: object) -> tuple[str, str]:
    """What a command that succeeds prints on stdout and stderr."""
    result = CliRunner().invoke(motet, ["trace", *map(str, arguments)], prog_name="motet")
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line on stderr of a command that ends with exit code 2."""
    command = ["trace", *map(str, arguments)]
    code = exit_code_of(lambda: motet.main(command, "motet", standalone_mode=False))
    said = capsys.readouterr()
    assert (code, said.out, said.err.count("\n")) == (2, "", 1)
    return said.err


@pytest.mark.parametrize("name", NAMES)
def test_a_drawn_workload_is_described_as_its_file_is(name: str, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    run("generate", file, "--mix", name, "--seed", 3)
    of_file = json.loads(run("describe", file, "--json")[0])
    of_name = json.loads(run("describe", name, "--seed", 3, "--json")[0])
    told = {"file", "format", "notices"}
    assert {key: of_name[key] for key in of_name.keys() - told} == {
        key: of_file[key] for key in of_file.keys() - told
    }
    page, _ = run("describe", name, "--seed", 3)
    assert page.startswith(f"{name}: {of_name['jobs']:,} jobs   drawn workload\n")


def test_options_of_a_file_are_refused_for_a_drawn_workload(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "slaq-160 is not a file" in refused(
        capsys, "describe", "slaq-160", "--timezone", "Europe/Berlin"
    )


def test_describe_shows_sizes_durations_arrivals_and_load(file_of: FileOf) -> None:
    page, notices = run("describe", file_of(TIRESIAS), "--cluster", "2x4")

    assert page.startswith("in.csv: 2 jobs   Tiresias CSV (seconds)\n")
    for part in ("durations", "arrivals", "load 1.25, overloaded", "10.0 GPU-hours", "2 models"):
        assert part in page
    assert notices == ""


def test_describe_as_json_is_one_document(file_of: FileOf) -> None:
    document = json.loads(run("describe", file_of(TIRESIAS), "--cluster", "2x4", "--json")[0])

    assert document["format"] == "tiresias"
    assert document["jobs"] == 2
    assert [size["gpus"] for size in document["sizes"]] == [1, 8]
    assert document["cluster"]["load"] == pytest.approx(1.25)
    assert len(document["sha256"]) == 64


ELASTIC = """\
job_id,submit_time,num_gpus,duration,experiment,num_cpus,memory_gb,steps,servers,speed,speed_t0,\
curve,target_loss
a,0,4,,s1,2,0.5,100,2,sync,2,svm-sgd-a9a,0.4
b,0,4,,s1,16,64,100,,sync,2,svm-sgd-a9a,
c,0,4,,,8,,100,,sync,2,,
d,0,1,30,s2,,,,,,,,
"""


def test_describe_shows_elastic_jobs_experiments_cpus_and_memory(file_of: FileOf) -> None:
    page, _ = run("describe", file_of(ELASTIC))
    flat = " ".join(page.split())

    assert "elastic 3 of 4 jobs, 2 with a loss curve, 1 with a target loss, 1 with servers" in flat
    assert "their durations are those on the full request" in flat
    assert "experiments 2, of 3 jobs" in flat
    assert "CPUs 3 jobs ask for 2 to 16, 8 in the median" in flat
    assert "memory 2 jobs ask for 500 MB to 64.0 GB, 32.2 GB in the median" in flat


def test_describe_as_json_contains_elastic_jobs(file_of: FileOf) -> None:
    document = json.loads(run("describe", file_of(ELASTIC), "--json")[0])

    assert document["elastic"] == {
        "jobs": 3,
        "with_curve": 2,
        "with_target": 1,
        "with_servers": 1,
    }
    assert document["experiments"] == {"experiments": 2, "jobs": 3}
    assert document["cpus"] == {"jobs": 3, "min": 2, "median": 8, "max": 16}
    assert document["memory_bytes"]["max"] == 64_000_000_000


def test_describe_omits_missing_properties(file_of: FileOf) -> None:
    document = json.loads(run("describe", file_of(TIRESIAS), "--json")[0])
    page = run("describe", file_of(TIRESIAS))[0].partition("usable")[0]

    assert [document[name] for name in ("elastic", "experiments", "cpus", "memory_bytes")] == [
        None
    ] * 4
    assert not any(name in page for name in ("elastic", "experiments", "CPUs", "memory"))


def test_describe_shows_which_policies_can_use_the_log(file_of: FileOf) -> None:
    path = file_of(TIRESIAS)
    page = " ".join(run("describe", path)[0].split())
    found = {
        each["policy"]: each for each in json.loads(run("describe", path, "--json")[0])["policies"]
    }

    assert "fully best-effort, fifo, gandiva, sf, srsf+, srtf+, " in page
    assert "no slaq no loss curves: all progress alike" in page
    assert "+ run times of the log are known to it in advance" in page
    assert (found["fifo"]["usable"], found["fifo"]["knows_durations"]) == ("fully", False)
    assert (found["drf"]["usable"], found["slaq"]["usable"]) == ("partly", "no")
    assert found["slaq"]["missing_inputs"][0] == {
        "input": "loss curves",
        "jobs": 2,
        "of": 2,
        "effect": "all progress alike, so small jobs go first",
        "is_needed": True,
    }


def test_describe_shows_the_completion_times_of_the_log(file_of: FileOf) -> None:
    header = "job_id,submit_time,num_gpus,duration,start_time,end_time"
    path = file_of(f"{header}\na,0,1,60,40,100\nb,0,1,60,,\n")
    page = " ".join(run("describe", path)[0].split())
    logged = json.loads(run("describe", path, "--json")[0])["logged"]

    assert "in the log 1:40 from submission to end on average (median 1:40), 40 s of it" in page
    assert (logged["jobs"], logged["jct_s"]["mean"], logged["delay_s"]["max"]) == (1, 100, 40)


def test_describe_writes_a_picture(file_of: FileOf, tmp_path: Path) -> None:
    run("describe", file_of(TIRESIAS), "--cluster", "2x4", "--out", tmp_path / "new")

    assert (tmp_path / "new" / "trace.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((tmp_path / "new" / "trace.json").read_text())["jobs"] == 2


def test_notices_go_to_stderr(file_of: FileOf) -> None:
    page, notices = run("describe", file_of(BAD), "--skip-bad-rows", "--cluster", "2x4", "--json")

    assert json.loads(page)["skipped"] == {"too many GPUs": 1, "negative duration": 1}
    assert notices == (
        "2 bad rows skipped: too many GPUs 1 (line 3), negative duration 1 (line 4)\n"
    )


SITE = """\
Job,GPUs,Submitted,Elapsed
a,4,2024-03-01T10:00:00,1-02:03:04
b,1,2024-03-01T10:00:30,05:30
"""


def test_columns_of_other_logs_are_named_on_the_command_line(
    file_of: FileOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = file_of(SITE), tmp_path / "out.csv"
    names = "job_id=Job,submit_time=Submitted,duration=Elapsed"
    options = ("--columns", names, "--columns", "num_gpus=GPUs", "--timezone", "Europe/Berlin")

    page, notices = run("describe", source, *options)
    assert (page.splitlines()[0], notices) == ("in.csv: 2 jobs   table with a header", "")
    run("convert", source, target, *options)
    assert read_trace(target).workload.duration_us.tolist() == [93_784_000_000, 330_000_000]
    assert "--columns x: 'x' is not NAME=COLUMN" in refused(
        capsys, "describe", source, "--columns", "x"
    )
    assert "num_gpus is given twice" in refused(
        capsys, "describe", source, *options, "--columns", "num_gpus=Job"
    )
    assert "no column 'submit_time', 'num_gpus', 'duration'; " in refused(
        capsys, "describe", source
    )


def test_convert_is_exact(file_of: FileOf, tmp_path: Path) -> None:
    source = file_of(TIRESIAS)
    run("convert", source, tmp_path / "out.csv")
    run("convert", tmp_path / "out.csv", tmp_path / "again.csv.gz")
    before, after = read_trace(source), read_trace(tmp_path / "again.csv.gz")

    assert after.workload.duration_us.tolist() == [7_200_000_000, 3_600_000_001]
    assert before.workload.ids == after.workload.ids
    assert after.more["iterations"] == ("606", "133")


def test_convert_and_generate_write_to_stdout_for_a_dash(file_of: FileOf) -> None:
    assert run("convert", file_of(TIRESIAS), "-")[0].startswith("job_id,user,queue,submit_time")
    assert run("generate", "-", "--jobs", "3")[0].count("\n") == 4


def test_files_are_replaced_on_request_only(
    file_of: FileOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, mine = file_of(TIRESIAS), tmp_path / "mine.csv"
    mine.write_text("mine")
    for arguments in (("convert", source, mine), ("generate", mine, "--jobs", "3")):
        assert "mine.csv: exists already; " in refused(capsys, *arguments)
        assert mine.read_text() == "mine"
        run(*arguments, "--overwrite")
        assert mine.read_text().startswith("job_id,")
        mine.write_text("mine")


def test_a_trace_is_not_converted_into_itself(
    file_of: FileOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, before = file_of(TIRESIAS), file_of(TIRESIAS).read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(source)

    for target in (source, link):
        assert "is the file that is read" in refused(
            capsys, "convert", source, target, "--overwrite"
        )
    assert source.read_bytes() == before


def test_generate_gives_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("generate", tmp_path / name, "--seed", "4", "--arrivals", "bursty:20", "--jobs", "50")
    run("generate", tmp_path / "other", "--seed", "5", "--arrivals", "bursty:20", "--jobs", "50")

    one, two, other = ((tmp_path / name).read_bytes() for name in ("one", "two", "other"))
    assert one == two
    assert one != other


def test_a_bad_row_ends_the_command_in_one_line(
    file_of: FileOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(BAD)

    assert f"{path}:4: duration is -5 s" in refused(capsys, "describe", path)
    told = refused(capsys, "describe", path, "--cluster", "2x4")
    assert (
        f"{path}:3: the job requests 9 GPUs, the cluster has 8 (and 1 more bad row: negative"
        in told
    )
    assert f"{path}:4: " in refused(capsys, "convert", path, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["describe", "none.csv"], "none.csv: no such file"),
        (["describe", "slaq-16"], "slaq-16: no such file; did you mean 'slaq-160'?"),
        (["describe", "none.csv", "--format", "x"], "none.csv: no such file"),
        (["generate", "out.csv", "--jobs", "0"], "--jobs 0: must be within 1"),
        (["generate", "out.csv", "--mix", "x"], "unknown mix 'x'"),
        (["generate", "no/such/out.csv"], "cannot be written"),
        (["describe", "none.csv", "--cluster", "x"], "--cluster x"),
    ],
)
def test_mistakes_end_in_one_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        pytest.param(
            ("describe",), "{'ray', 'torch', 'pandas', 'matplotlib'}", marks=pytest.mark.soak
        ),
        (("convert", "-"), "{'ray', 'torch', 'numba', 'pandas', 'matplotlib'}"),
    ],
)
def test_traces_load_few_packages(command: tuple[str, ...], unwanted: str, file_of: FileOf) -> None:
    arguments = ["motet", "trace", command[0], str(file_of(TIRESIAS)), *command[1:]]
    program = (
        "import sys; from motet.interfaces.cli.main import main\n"
        f"sys.argv = {arguments!r}\n"
        "code = main()\n"
        f"assert not {unwanted} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
