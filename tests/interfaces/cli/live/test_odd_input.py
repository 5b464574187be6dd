"""Odd job files, ids and keys: one clear error each, before or from the server."""

from __future__ import annotations

import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from live_server import LiveServer, running_server
from motet.domain.errors import BadInput, MotetError
from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.live.job_file import job_values
from motet.live.jobs.job_file import job_spec

pytestmark = pytest.mark.cluster

JOB_FILE = (
    b"name: train\nrun: |\n  echo $A\nprocesses: 1\npriority: -1\nenvs:\n  A: '7'\nworkdir: sub\n"
    b"preempt: {signal: SIGUSR1, grace_s: 60}\nretry: {max_attempts: 3}\n"
)
SCRAPS = (
    *(b"", b".nan", b".inf", b"-1", b"1e400", b"9" * 25, b"abc", b"'", b'"', b":", b": ", b","),
    *(b"\t", b"\n", b"\r", b"#", b"\0", b"\xff", b"\xc3\x28", b"[" * 300, b"{" * 300, b"[]", b"{}"),
    *(b"!!binary aGk=", b"!!set {a, b}", b"!!timestamp x", b'"\\0"', b'"\\ud800"', b'"\\e[31m"'),
    *(b"&a ", b"*a", b"<<: ", b"- ", b"null", b"true", b"? [a, b]\n: c\n", b"../../../etc/x", b"="),
)
BOMB = b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 30))
COMMANDS = ("describe", "explain", "wait", "logs", "cancel", "suspend", "resume")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--address", "nowhere"), "write HOST:PORT"),
        (("--address", "h:0"), "write HOST:PORT"),
        (("--address", "h:6379", "--cluster", "2x2"), "--cluster describes this computer"),
    ],
)
def test_an_odd_address_of_a_cluster_is_refused(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    found = CliRunner().invoke(motet, ["server", "--state-dir", str(tmp_path / "s"), *words])
    assert isinstance(found.exception, BadInput | SystemExit)
    assert told in found.output + str(found.exception)
    assert not (tmp_path / "s").exists()


EXAMPLES = pytest.mark.parametrize(
    "seeds", [range(100), pytest.param(range(100, 5000), marks=pytest.mark.soak)], ids=str
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        yield found


def run(server: LiveServer, command: str, *arguments: str) -> Result:
    words = [command, "--state-dir", str(server.folder), *arguments]
    return CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)


@EXAMPLES
def test_damaged_job_files(tmp_path: Path, seeds: range) -> None:
    path = tmp_path / "job.yaml"
    for seed in seeds:
        random = Random(seed)
        content = JOB_FILE
        for _ in range(random.randint(1, 4)):
            start, length = random.randint(0, len(content)), random.choice((0, 1, 3, 20, 10**6))
            content = content[:start] + random.choice(SCRAPS) + content[start + length :]
        path.write_bytes(content)
        try:
            with suppress(MotetError):
                job_spec(job_values(path, (), ("B=c",), {"name": None}))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_the_job_file_is_read_undamaged(tmp_path: Path) -> None:
    """So the test above damages what would be accepted."""
    path = tmp_path / "job.yaml"
    path.write_bytes(JOB_FILE)
    assert job_spec(job_values(path, (), (), {})).workdir == str(tmp_path / "sub")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "not text in UTF-8"),
        (b"", "a job file has lines"),
        (b"name: a\nrun: x\nworkdir: 'a\xc2\x85'\nenvs: [1]\n", "envs: a section with lines"),
        (b'name: a\nrun: x\nworkdir: "\\0"\n', "workdir: not a folder"),
        (b"name: a\nrun: x\npriority: .nan\n", "priority: nan; give a finite number"),
        (b"name: a\nrun: !!binary aGVsbG8=\n", "a value that JSON cannot hold"),
        (b"name: a\nrun: x\n1: 2\n", "1: Keys should be strings"),
        (b"a0: &a0 [x]\n" + BOMB, "aliases"),
        (b"#" * (5 << 20), "larger than 4,194,304 bytes"),
    ],
)
def test_an_odd_job_file_is_one_clear_error(
    server: LiveServer, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as caught:
        run(server, "submit", "-f", str(path), "--env", "B=c")
    assert len(str(caught.value)) < 500


def test_a_job_file_without_end_is_refused(server: LiveServer) -> None:
    with pytest.raises(BadInput, match=r"/dev/zero: cannot be read \(it is a device"):
        run(server, "submit", "-f", "/dev/zero")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "job", ["", "..", "1/../2", "1?x", "1#", "%31", "-1", "1e3", "１", "\x1b[31m", "\udcff", " 1"]
)
def test_an_id_that_could_name_another_path_is_refused(
    server: LiveServer, command: str, job: str
) -> None:
    with pytest.raises(BadInput, match="give the number of a job"):
        run(server, command, "--", job)


def test_a_log_on_a_terminal_has_colours_and_no_other_commands(server: LiveServer) -> None:
    script = r"printf '\033]0;title\007\033[31mred\033[2J\302\233H\n'"
    job = run(server, "submit", "-n", "loud", "--", "sh", "-c", script).stdout.strip()
    run(server, "wait", job)
    assert b"\x1b]0;title\x07" in run(server, "logs", job).stdout_bytes
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "motet.interfaces.cli", "logs", job]
    with open(ours, "rb", buffering=0) as terminal, open(theirs, "wb") as stdout:
        subprocess.run([*command, "--state-dir", server.folder], stdout=stdout, check=True)
        shown = terminal.read(10_000)
    assert shown == b"\\x1b]0;title\\x07\x1b[31mred\\x1b[2J\\x9bH\r\n\x1b[0m"


@pytest.mark.parametrize("key", ["k\u20ac", "a\nb", "\x1b[31m", "x" * 201, "\udcff"])
def test_an_odd_key_is_refused(server: LiveServer, key: str) -> None:
    with pytest.raises(BadInput, match="--key"):
        run(server, "submit", "--key", key, "--", "true")


@pytest.mark.parametrize("words", [["a\udcffb"], ["true", "\udcff"]])
def test_words_that_are_not_unicode_are_refused(server: LiveServer, words: list[str]) -> None:
    with pytest.raises(BadInput, match="surrogate"):
        run(server, "submit", "-n", "a", "--", *words)
