"""`--address`: training on a Ray cluster that runs already."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from marked_process import run_motet

pytestmark = pytest.mark.cluster

_BIN = Path(sys.executable).parent
_START_TIMEOUT_S = 90


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For the cluster and for commands that join it."""
    path = tmp_path_factory.mktemp("ray") / "token"
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
        patch.delenv("RAY_AUTH_TOKEN", raising=False)
        yield path


@pytest.fixture(scope="module")
def address(token_file: Path) -> Iterator[str]:
    """A one-node Ray cluster of its own, started as a user starts it."""
    del token_file
    port = free_port()
    # Ray's socket names must stay under 107 characters, which pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as home:
        command = [
            _BIN / "ray", "start", "--head", "--block", f"--port={port}", "--num-cpus=2",
            "--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={home}",
        ]  # fmt: skip
        head = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            await_listener(head, port)
            yield f"127.0.0.1:{port}"
        finally:
            end(head)


def await_listener(head: subprocess.Popen[bytes], port: int) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while True:
        assert head.poll() is None, "ray start ended early"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline_s, "Ray did not start listening"
        else:
            return


def end(head: subprocess.Popen[bytes]) -> None:
    family = [psutil.Process(head.pid), *psutil.Process(head.pid).children(recursive=True)]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    head.wait()
    assert psutil.wait_procs(family, timeout=100)[1] == []


TRAIN = ("train", "lasso", "--data", "diabetes", "--epochs", "3", "--json", "--set", "tol=0")


def refusal(address: str, machines: int, code: int) -> str:
    """What the command prints on stderr."""
    ended = run_motet(*TRAIN, "--address", address, "--machines", str(machines))
    assert (ended.code, ended.out) == (code, ""), ended.err
    return ended.err


@pytest.mark.soak
def test_a_job_trains_on_a_cluster_that_runs_already(address: str) -> None:
    command = [_BIN / "motet", *TRAIN, "--address", address, "--machines", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["loss"]) == 3


@pytest.mark.soak
def test_more_machines_than_the_cluster_has_nodes_are_refused(address: str) -> None:
    assert "has 1 node(s); lower --machines or add nodes" in refusal(address, 2, code=2)


@pytest.mark.soak
def test_a_token_that_other_users_can_read_is_refused(address: str, token_file: Path) -> None:
    token_file.chmod(0o644)
    err = refusal(address, 1, code=2)
    token_file.chmod(0o600)
    assert f"{token_file}: mode 0644 lets other users read Ray's token" in err
    assert "Traceback" not in err


def test_an_address_where_nobody_listens_is_said_at_once() -> None:
    err = refusal(f"127.0.0.1:{free_port()}", 1, code=5)
    assert "127.0.0.1" in err
    assert "Traceback" not in err
