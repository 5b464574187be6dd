"""Commands on jobs against a real server: what they print, and their exit status."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from live_server import LiveServer, running_server
from marked_process import motet_process
from motet.domain.errors import AuthenticationFailed, BadInput, NotFound, Unreachable
from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.live import server_names

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x2") as found:
        yield found


class Shell:
    """Runs commands against the server, in the process of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, command: str, *arguments: str) -> Result:
        words = [command, "--state-dir", str(self.folder), *arguments]
        return CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)

    def submit(self, *command: str) -> str:
        result = self("submit", "--", *command)
        return result.stdout.strip()


@pytest.fixture
def run(server: LiveServer) -> Shell:
    return Shell(server.folder)


def test_submit_prints_the_id_on_stdout_and_the_next_step_on_stderr(run: Shell) -> None:
    result = run("submit", "-n", "mine", "--", "echo", "hello")
    job = result.stdout.strip()
    assert job.isdigit()
    assert f"motet logs -f --state-dir {run.folder} {job}\n" in result.stderr
    assert run("wait", job).return_value == 0


def test_logs_follow_a_job_to_its_last_byte(run: Shell) -> None:
    job = run.submit("sh", "-c", "echo first; sleep 1; printf last")
    assert run("logs", job, "-f").stdout == "first\nlast"
    assert run("logs", job).stdout == "first\nlast"


def test_a_job_runs_in_the_folder_where_it_was_submitted(
    run: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = run.submit("pwd")
    assert run("logs", job, "-f").stdout.strip() == str(tmp_path)


def test_a_snapshot_is_sent_once_and_then_run(
    run: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "say.sh").write_text("cat say.sh\n")
    first, second = (run("submit", "--snapshot", "--", "sh", "say.sh") for _ in range(2))
    assert first.stderr.startswith("sending a snapshot of 1 file, 10.2 kB\nsh is ")
    assert second.stderr.startswith("sh is ")
    job = second.stdout.strip()
    assert run("logs", job, "-f").stdout == "cat say.sh\n"
    shown = "".join(run("describe", job).stdout.split())  # Long facts take several lines.
    assert f"runsin{run.folder}/workdirs/{job}snapshotof{tmp_path}," in shown


def test_a_job_waits_for_its_trial(run: Shell) -> None:
    words = ("submit", "--trial", "--processes", "2", "-n", "fit", "--")
    job = run(*words, "python3", "-c", "import torhc").stdout.strip()
    waited = run("wait", job)
    assert waited.return_value == 1
    assert f"FAILED: its trial, job {int(job) - 1}, is FAILED: the process" in waited.stdout
    assert "No module named 'torhc'" in run("logs", job).stdout
    assert "No module named 'torhc'" in run("logs", "-f", job).stdout
    assert "failed: its trial" in run("explain", job).stdout
    job = run(*words, "sh", "-c", "echo $MOTET_TRIAL of $WORLD_SIZE").stdout.strip()
    assert run("wait", job).return_value == 0
    assert run("logs", job).stdout == "of 2\n"
    assert run("logs", str(int(job) - 1)).stdout == "1 of 1\n"


def test_explain_tells_what_a_held_job_waits_for(run: Shell) -> None:
    first = run.submit("sleep", "1000")
    job = run("submit", "--after", first, "--", "true").stdout.strip()
    shown = run("explain", job).stdout
    assert f"until job {first} has succeeded" in shown
    assert "other jobs that have to succeed first" in shown
    document = json.loads(run("explain", job, "--json").stdout)
    assert document["chapters"][0]["reason"] == "dependency"
    run("cancel", first)


def test_a_job_file_and_options_beside_it(run: Shell, tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("run: |\n  echo $A $B $WORLD_SIZE; pwd\nenvs: {A: one}\nworkdir: sub\n")
    (tmp_path / "sub").mkdir()
    job = run("submit", "-f", str(path), "--processes", "2", "--env", "B=two").stdout.strip()
    assert run("logs", job, "-f").stdout == f"one two 2\n{tmp_path}/sub\n"
    assert json.loads(run("describe", job, "--json").stdout)["name"] == "train"
    shown = run("describe", job).stdout
    assert "command" in shown
    assert "echo $A $B $WORLD_SIZE; pwd" in shown


def test_an_elastic_command_from_options(run: Shell) -> None:
    sizes = ("--processes", "2", "--min-processes", "1")
    job = run("submit", *sizes, "--", "sleep", "600").stdout.strip()
    found = json.loads(run("describe", job, "--json").stdout)
    assert (found["spec"]["min_processes"], found["most_processes"]) == (1, 2)
    run("cancel", job)
    with pytest.raises(BadInput, match="min_processes is 3, more than processes, 2"):
        run("submit", "--processes", "2", "--min-processes", "3", "--", "true")


@pytest.mark.parametrize("words", [["job.yaml"], ["job.yml", "--fast"], ["job.sbatch", "more"]])
def test_a_job_file_without_its_option_is_no_command(
    run: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(words[0]).write_text("run: 'true'\n")
    with pytest.raises(click.UsageError, match=f"did you mean: motet submit -f {words[0]}"):
        run("submit", "--", *words)


def test_a_key_belongs_to_one_job(run: Shell) -> None:
    job = run("submit", "--key", "mine", "--", "true").stdout.strip()
    assert run("submit", "--key", "mine", "--", "true").stdout.strip() == job
    with pytest.raises(BadInput, match=f"the key 'mine' belongs to job {job}"):
        run("submit", "--key", "mine", "--", "false")


def test_a_misspelt_key_is_named_with_its_file(run: Shell, tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("runn: python train.py\n")
    with pytest.raises(BadInput, match=r"train.yaml: unknown key runn; did you mean run"):
        run("submit", "-f", str(path))


def test_wait_tells_how_the_job_ended(run: Shell) -> None:
    job = run.submit("sh", "-c", "exit 5")
    result = run("wait", job)
    assert result.return_value == 1
    assert result.stdout == f"{job}  sh  FAILED: the process exited with status 5\n"
    assert run("wait", job, "--propagate-exit-code").return_value == 5


def test_wait_takes_several_jobs(run: Shell) -> None:
    good, bad = run.submit("true"), run.submit("sh", "-c", "exit 5")
    worse = run.submit("sh", "-c", "exit 7")
    result = run("wait", good, bad, worse)
    assert result.return_value == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == [good, bad, worse]
    assert run("wait", good, worse, bad, "--propagate-exit-code").return_value == 7
    document = json.loads(run("wait", good, bad, "--json").stdout)
    assert [job["state"] for job in document["jobs"]] == ["SUCCEEDED", "FAILED"]
    with pytest.raises(NotFound, match="there is no job 999"):
        run("wait", good, "999")


def test_wait_ends_with_the_status_of_the_process_that_failed_first(run: Shell) -> None:
    """The other processes of its gang are stopped, and end with statuses of their own."""
    script = (
        "ready=$MOTET_CHECKPOINT_DIR/ready; trap 'exit 9' TERM; "
        "[ $RANK = 0 ] && mkdir -p $MOTET_CHECKPOINT_DIR && touch $ready; "
        "while :; do sleep 0.1; [ $RANK = 1 ] && [ -e $ready ] && exit 5; done"
    )
    job = run("submit", "--processes", "2", "--", "sh", "-c", script).stdout.strip()
    assert run("wait", job, "--propagate-exit-code").return_value == 5
    ends = json.loads(run("describe", job, "--json").stdout)["attempt_list"][0]["exits"]
    assert [end["code"] for end in ends] == [9, 5]


def test_wait_ends_with_the_status_of_the_first_job_of_an_array_that_failed(
    run: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("array: 0-2\nrun: exit $(($MOTET_ARRAY_INDEX * 3))\n")
    array = run("submit", "-f", str(path)).stdout.strip()
    assert run("wait", array).return_value == 1
    assert run("wait", array, "--propagate-exit-code").return_value == 3


def test_a_job_ends_at_its_limit_after_its_signal(run: Shell) -> None:
    """The job writes what it gets; its exit status after the signal is passed on."""
    script = "trap 'echo saved; exit 7' TERM; while :; do sleep 0.1; done"
    result = run("submit", "-n", "hangs", "--max-duration", "4s", "--", "sh", "-c", script)
    job = result.stdout.strip()
    told = run("wait", job, "--propagate-exit-code")
    reason = r"it ran 2(\.\d+)? s of its max_duration, 4s, of which the last 2s are for its end"
    assert re.fullmatch(rf"{job}  hangs  FAILED: {reason}\n", told.stdout)
    assert told.return_value == 7
    assert run("logs", job).stdout.endswith("saved\n")
    shown = run("describe", job).stdout
    assert "time limit  4 s, of which it has run " in shown
    assert "time_limit" in shown
    listed = json.loads(run("list", "--all", "-o", "json").stdout)["jobs"]
    assert [each["max_duration_s"] for each in listed if each["id"] == job] == [4]
    with pytest.raises(click.BadParameter, match="'soon': give seconds, or a time as 90s, 30m"):
        run("submit", "--max-duration", "soon", "--", "true")


def test_wait_goes_on_when_the_server_is_started_again(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with running_server(tmp_path / "state", "--cluster", "1x1") as server:
        run = Shell(server.folder)
        ended = run.submit("true")
        job = run.submit("sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done")
        waiting = motet_process("wait", ended, job, "--state-dir", server.folder)
        assert waiting.first_line() == f"{ended}  true  SUCCEEDED"
        server.kill()
        assert waiting.process.stderr is not None
        assert f"until then this waits for job {job}" in waiting.process.stderr.readline()
        server.start()
        gate.touch()
        out, err = waiting.process.communicate(timeout=100)
    assert (waiting.process.returncode, err) == (0, "")
    assert out == f"{job}  sh  SUCCEEDED\n"


def test_wait_gives_up_after_the_timeout(run: Shell) -> None:
    job = run.submit("sleep", "1000")
    assert run("wait", job, "--timeout", "0.2").return_value == 124
    run("cancel", job)
    assert run("wait", job).return_value == 1


def test_cancel_suspend_and_resume(run: Shell) -> None:
    job = run.submit("sleep", "1000")
    assert run("suspend", job).stdout == f"{job}  sleep  SUSPENDED\n"
    assert run("resume", job).stdout.split()[2] in ("PENDING", "STARTING", "RUNNING")
    assert run("cancel", job).stdout == f"{job}  sleep  CANCELLED\n"
    assert run("cancel", job).stdout == f"{job}  sleep  CANCELLED\n"
    with pytest.raises(BadInput, match="can no longer be suspended"):
        run("suspend", job)


@pytest.mark.parametrize("words", [["suspend"], ["cancel"], ["update", "--priority", "3"]])
def test_an_unknown_job_is_refused_before_another_one_is_changed(
    run: Shell, words: list[str]
) -> None:
    job = run.submit("sleep", "1000")
    with pytest.raises(NotFound, match="there is no job 999"):
        run(*words, job, "999")
    found = json.loads(run("describe", job, "--json").stdout)
    assert (found["state"] in ("PENDING", "STARTING", "RUNNING"), found["priority"]) == (True, 0)
    run("cancel", job)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["suspend"], "sleep  SUSPENDED"),
        (["update", "--priority", "3"], "sleep  queue default, priority 3"),
        (["cancel"], "sleep  CANCELLED"),
    ],
)
def test_jobs_that_can_be_changed_are_and_the_others_are_told(
    run: Shell, words: list[str], told: str
) -> None:
    job, *ended = run.submit("sleep", "1000"), run.submit("true"), run.submit("true")
    run("wait", *ended)
    given = [*words, "--state-dir", str(run.folder), ended[0], job, ended[1]]
    result = CliRunner().invoke(motet, given, standalone_mode=False)
    assert result.stdout == f"{job}  {told}\n"
    assert isinstance(result.exception, BadInput)
    assert [f"job {each} " in str(result.exception) for each in ended] == [True, True]
    again = CliRunner().invoke(motet, [*given, "--json"], standalone_mode=False)
    if words == ["update", "--priority", "3"]:
        assert [each["id"] for each in json.loads(again.stdout)["jobs"]] == [job]
    run("cancel", job)


def test_a_list_without_hits_says_so_and_can_be_narrowed(run: Shell) -> None:
    job = run.submit("true")
    run("wait", job)
    assert run("list", "--state", "suspended").stderr == "no jobs meet this\n"
    shown = json.loads(run("list", "--queue", "default", "--limit", "1", "--json").stdout)["jobs"]
    assert [each["id"] for each in shown] == [job]


def test_list_shows_states_and_can_be_limited_to_some(run: Shell) -> None:
    job = run.submit("false")
    run("wait", job)
    lines = run("list", "--state", "failed").stdout.splitlines()
    assert lines[0].split()[:3] == ["ID", "NAME", "USER"]
    assert any(line.split()[0] == job and "FAILED" in line for line in lines[1:])
    jobs = json.loads(run("list", "--json").stdout)["jobs"]
    assert job in {each["id"] for each in jobs}


def test_describe_shows_every_attempt(run: Shell) -> None:
    job = run.submit("true")
    run("wait", job)
    text = run("describe", job).stdout
    assert "SUCCEEDED" in text
    assert "m0:1" in text


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["describe", "999"], NotFound, "there is no job 999"),
        (["describe", "x"], BadInput, "give the number of a job"),
        (["logs", "999"], NotFound, "there is no job 999"),
        (["submit", "--processes", "99", "--", "true"], BadInput, "the cluster has 2 slots"),
        (["submit", "--env", "A", "--", "true"], BadInput, "write NAME=VALUE"),
        (["list", "--server", "http://127.0.0.1:1"], Unreachable, "does not answer"),
    ],
)
def test_errors(run: Shell, words: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(*words)


def test_a_wrong_token_is_refused(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "wrong")
    with pytest.raises(AuthenticationFailed, match="token is missing, wrong"):
        run("list")


def test_without_a_server_the_error_says_how_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOTET_SERVER", raising=False)
    with pytest.raises(Unreachable, match="start one with 'motet server'"):
        Shell(tmp_path)("list")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("bad.sbatch", "#!/bin/sh\n#SBATCH --ntasks=many\n", r"bad\.sbatch.*--ntasks"),
        ("bad.yaml", "run: echo\nreplicas: 4\n", r"bad\.yaml: unknown key replicas; did you mean"),
    ],
)
def test_an_error_in_a_job_file_is_told_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, told: str
) -> None:
    monkeypatch.delenv("MOTET_SERVER", raising=False)
    (tmp_path / name).write_text(text)
    file = str(tmp_path / name)
    words = [file] if name.endswith("sbatch") else ["-f", file]
    with pytest.raises(BadInput, match=told):
        Shell(tmp_path)("submit", *words)
    with pytest.raises(Unreachable, match="no server is known"):
        Shell(tmp_path)("submit", "--", "true")


def test_submit_without_a_job_names_all_that_it_takes(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match=r"-f, a batch script \(job.sbatch\), a command"):
        Shell(tmp_path)("submit")


def test_explain_tells_why_a_job_waits(run: Shell) -> None:
    holder = run("submit", "--processes", "2", "--", "sleep", "600").stdout.strip()
    job = run.submit("true")
    assert "InsufficientSlots" in run("list", "--state", "PENDING").stdout
    assert "needs 1 slot, none was free" in run("describe", job).stdout
    page = run("explain", job).stdout
    run("cancel", holder)
    assert page.startswith(f"job {job} true: PENDING, 1 slot, queue default, policy fifo")
    assert "has waited " in page
    assert f"job {holder} (2 slots)" in page
    assert run("wait", job).return_value == 0
    told = " ".join(run("explain", job, "--all").stdout.split())  # Lines may break anywhere.
    assert "ran ahead of it" in told
    assert json.loads(run("explain", job, "--json").stdout)["state"] == "SUCCEEDED"


def test_explain_takes_a_folder_or_a_server(run: Shell, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--run is a folder of a simulation"):
        run("explain", "1", "--run", str(tmp_path))


def test_a_training_from_options_to_its_results(run: Shell, tmp_path: Path) -> None:
    words = ["--app", "mlr", "--data", "digits", "--epochs", "3", "--set", "l2=0.01"]
    job = run("submit", *words).stdout.strip()
    assert run("wait", job).return_value == 0
    found = json.loads(run("describe", job, "--json").stdout)
    assert (found["kind"], found["name"], found["processes"]) == ("ps", "mlr", 2)
    assert (found["progress"]["epochs_done"], found["progress"]["epochs"]) == (3, 3)
    record = json.loads((Path(found["results"]) / "run.json").read_text())
    assert (record["parameters"]["l2"], record["epochs"]) == (0.01, 3)
    screen = run("describe", job).stdout
    assert "3 of 3 epochs, loss " in screen
    assert found["results"] in screen.replace("\n", "")


@pytest.mark.soak
def test_a_training_on_a_table_of_ones_own(run: Shell, tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("id,x,y\n" + "".join(f"p{n},{n % 7},{2 * (n % 7)}\n" for n in range(50)))
    options = ("--data", str(table), "--target", "y", "--drop", "id", "--epochs", "3")
    job = run("submit", "--app", "linear_regression", *options, "--until", "loss=0").stdout.strip()
    assert run("wait", job).return_value == 0
    spec = json.loads(run("describe", job, "--json").stdout)["spec"]
    assert (spec["target"], spec["drop"], spec["until"]) == ("y", ["id"], "loss=0")


def test_a_training_in_a_job_file_knows_the_number_of_its_epochs(
    run: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "fit.yaml"
    path.write_text("app: ./mine.py\ndata: digits\nworkers: 1\nset: {tol: 0, l2: 1}\n")
    (tmp_path / "mine.py").write_text(
        "from motet.apps.mlr import MLR\n\n\nclass Mine(MLR):\n    default_epochs = 7\n"
    )
    job = run("submit", "-f", str(path), "--set", "l2=0.5", "--seed", "3").stdout.strip()
    run("cancel", job)
    spec = json.loads(run("describe", job, "--json").stdout)["spec"]
    assert (spec["kind"], spec["name"], spec["seed"]) == ("ps", "fit", 3)
    assert spec["set"] == {"tol": 0, "l2": "0.5"}
    assert spec["epochs"] is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--app", "mlp", "--data", "digits"), "unknown application 'mlp'"),
        (("--app", "mlr", "--data", "digits", "--set", "l3=1"), "unknown parameter of mlr 'l3'"),
        (("--app", "mlr", "--data", "digits", "--set", "l2=many"), "l2 must be a number"),
        (("--app", "mlr"), "data is missing"),
        (("--app", "mlr", "--data", "digitz"), "digitz: neither a file .*mean 'digits'"),
        (("--app", "mlr", "--data", "digits", "--test", "pydoc"), "pydoc: holds a corpus"),
        (("--app", "mlr", "--data", "/tmp/none.csv"), "data: /tmp/none.csv: no such file"),
        (("--app", "mlr", "--data", "digits", "--processes", "2"), "unknown key processes"),
    ],
)
def test_a_training_that_cannot_work_is_refused_before_it_is_submitted(
    run: Shell, words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        run("submit", *words)


def test_the_columns_of_a_table_are_checked_before_a_training_is_submitted(
    run: Shell, tmp_path: Path
) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("x,y\n1,2\n3,4\n")
    given = ("submit", "--app", "linear_regression", "--data", str(table))
    for options, message in (
        (("--target", "z"), "unknown column of .*mine.csv 'z'"),
        ((), "this application needs a target"),
        (("--target", "y", "--drop", "w"), "unknown column of .*mine.csv 'w'"),
        (("--target", "y", "--test", str(tmp_path / "no.csv")), "test: .*no.csv: no such file"),
    ):
        with pytest.raises(BadInput, match=message):
            run(*given, *options)


def test_columns_of_ratings_are_named_before_a_training_is_submitted(
    run: Shell, tmp_path: Path
) -> None:
    ratings = tmp_path / "noten.csv"
    ratings.write_text("Kunde,Ware,Note\na,x,3\nb,y,4\n")
    given = ("submit", "--app", "nmf", "--data", str(ratings))
    job = run(*given, "--columns", "user=Kunde,item=Ware", "--columns", "rating=Note")
    run("cancel", job.stdout.strip())
    spec = json.loads(run("describe", job.stdout.strip(), "--json").stdout)["spec"]
    assert spec["columns"] == {"user": "Kunde", "item": "Ware", "rating": "Note"}
    with pytest.raises(BadInput, match="unknown column of ratings 'client'"):
        run(*given, "--columns", "client=Kunde")
    with pytest.raises(BadInput, match="--columns does not apply to csv data"):
        run("submit", "--app", "kmeans", "--data", str(ratings), "--columns", "user=Kunde")


def test_one_kind_of_job_at_a_time(run: Shell) -> None:
    with pytest.raises(click.UsageError, match=r"give one of: a job file with -f, .* '--', --app"):
        run("submit", "--app", "mlr", "--data", "digits", "--", "true")


def test_what_cannot_pass_is_not_run_again(run: Shell, tmp_path: Path) -> None:
    path = tmp_path / "fit.yaml"
    path.write_text("run: [python3, -c, import torhc]\nretry: {max_attempts: 3}\n")
    job = run("submit", "-f", str(path)).stdout.strip()
    ended = run("wait", job).stdout
    assert "status 1: ModuleNotFoundError: No module named 'torhc'; not run again" in ended
    (attempt,) = json.loads(run("describe", job, "--json").stdout)["attempt_list"]
    assert (attempt["outcome"], attempt["failure"]) == ("failed", "import_error")
    assert "import_error" in run("describe", job).stdout
    told = " ".join(run("explain", job).stdout.split())
    assert "attempt 1 failed (import_error): the process exited" in told


def test_an_array_is_submitted_listed_awaited_and_cancelled_as_one(
    run: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(
        "matrix: {lr: [0.1, 0.2], opt: [sgd, adam]}\n"
        'run: echo {{lr}} "$MOTET_MATRIX_OPT" "$MOTET_ARRAY_INDEX"\n'
    )
    submitted = run("submit", "-f", str(path))
    array = submitted.stdout.strip()
    assert f"motet list -w --state-dir {run.folder} --array {array}\n" in submitted.stderr
    assert run("wait", array).stdout == f"{array}  grid  SUCCEEDED: 4 SUCCEEDED\n"
    listed = run("list").stdout
    assert "4 SUCCEEDED" in listed
    assert "grid[0]" not in listed
    jobs = json.loads(run("list", "--array", array, "--json").stdout)["jobs"]
    logs = [run("logs", job["id"]).stdout for job in jobs]
    assert logs == ["0.1 sgd 0\n", "0.1 adam 1\n", "0.2 sgd 2\n", "0.2 adam 3\n"]
    described = run("describe", array).stdout
    assert "grid[3]" in described
    first = jobs[0]["id"]
    with pytest.raises(BadInput, match=f"{array} is an array of jobs; give one of them, {first}"):
        run("logs", array)
    path.write_text("array: 0-9%2\nrun: sleep 1000\n")
    array = run("submit", "-f", str(path)).stdout.strip()
    assert run("cancel", array).stdout.startswith(f"{array}  grid  CANCELLED\n")
    states = {job["state"] for job in json.loads(run("describe", array, "--json").stdout)["jobs"]}
    assert states == {"CANCELLED"}


def test_a_batch_script_of_slurm_is_submitted_from_the_present_folder(
    run: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    monkeypatch.chdir(tmp_path)
    script = scripts / "fit.sbatch"
    script.write_text("#!/bin/sh\n#SBATCH -a 4-5\npwd\necho $SLURM_ARRAY_TASK_ID\n")
    array = run("submit", "scripts/fit.sbatch").stdout.strip()
    assert run("wait", array).stdout == f"{array}  fit  SUCCEEDED: 2 SUCCEEDED\n"
    jobs = json.loads(run("list", "--array", array, "--json").stdout)["jobs"]
    assert [run("logs", job["id"]).stdout for job in jobs] == [
        f"{tmp_path}\n4\n",
        f"{tmp_path}\n5\n",
    ]
    script.write_text("#!/bin/sh\n#SBATCH --qos=high\npwd\n")
    with pytest.raises(BadInput, match="line 2: --qos is not supported"):
        run("submit", "-f", str(script))


def test_a_list_is_printed_as_json_yaml_or_csv(run: Shell) -> None:
    job = run.submit("true")
    run("wait", job)
    rows = json.loads(run("list", "-o", "json").stdout)["jobs"]
    assert yaml.safe_load(run("list", "-o", "yaml").stdout)["jobs"] == rows
    table = list(csv.DictReader(io.StringIO(run("list", "-o", "csv").stdout)))
    assert [row["id"] for row in table] == [row["id"] for row in rows]
    assert (table[-1]["state"], table[-1]["array"]) == ("SUCCEEDED", "")
    with pytest.raises(click.UsageError, match="--json -o csv: give one of the two"):
        run("list", "--json", "-o", "csv")


def test_a_shell_completes_ids_of_jobs(run: Shell) -> None:
    ended, opened = run.submit("true"), run.submit("sleep", "1000")
    run("wait", ended)
    where = ["--state-dir", str(run.folder)]
    assert {ended, opened} <= _completed("logs", where, "")
    assert opened in _completed("cancel", where, "")
    assert ended not in _completed("cancel", where, "")
    assert _completed("logs", where, opened[:1]) >= {opened}
    assert _completed("cancel", [*where, opened], "") & {opened} == set()
    assert {ended, opened} <= _completed("explain", where, "")
    assert ended not in _completed("update", where, "")
    assert opened in _completed("update", where, "")
    assert {ended, opened} <= _completed("submit", [*where, "--after"], "")
    run("cancel", opened)


def test_a_shell_completes_queues_machines_and_arrays(run: Shell, tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text("array: 0-1\nrun: sleep 1000\n")
    array = run("submit", "-f", str(path)).stdout.strip()
    where = ["--state-dir", str(run.folder)]
    assert array in _completed("list", [*where, "--array"], "")
    for verb in ("update", "describe", "hold", "drain", "resume", "delete"):
        assert _completed("queue", [verb, *where], "def") == {"default"}
    for command in ("submit", "update", "cancel"):
        assert _completed(command, [*where, "--queue"], "") == {"default"}
    for verb in ("drain", "resume"):
        assert _completed("machine", [verb, *where], "") == {"m0"}
    run("cancel", array)


def test_completion_is_silent_where_no_server_answers(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_names, "_ANSWER_WITHIN_S", 0.1)
    monkeypatch.setenv("MOTET_TOKEN", "any")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        busy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for where in (["--state-dir", "/nowhere"], ["--server", busy], ["--server", "nonsense"]):
            for command in ("explain", "cancel", "logs"):
                assert _completed(command, where, "") == set()
            assert _completed("machine", ["drain", *where], "") == set()
    assert capfd.readouterr() == ("", "")


def _completed(command: str, words: list[str], begin: str) -> set[str]:
    complete = ShellComplete(motet, {}, "motet", "_MOTET_COMPLETE")
    return {item.value for item in complete.get_completions([command, *words], begin)}


def test_the_schema_of_job_files_needs_no_server() -> None:
    result = CliRunner().invoke(motet, ["submit", "--schema"], standalone_mode=False)
    assert json.loads(result.stdout)["title"] == "Job file of Motet"
