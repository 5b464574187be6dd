"""The policy of a real server: refused at the start, shown, changed, explained."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from live_server import LiveServer
from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "1x2")
    yield found
    found.kill_everything()


def run(server: LiveServer, *words: str) -> Result:
    place = words.index("--") if "--" in words else len(words)
    arguments = [*words[:place], "--state-dir", str(server.folder), *words[place:]]
    return CliRunner().invoke(motet, arguments, catch_exceptions=False, standalone_mode=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "tiresias-las", "--set", "quantum=1"), "unknown parameter of tiresias-las"),
        (("--policy", "fiffo"), "unknown policy 'fiffo'"),
        (("--policy", "themis", "--set", "lease_s=0"), "lease_s=0"),
        (("--set", "quantum_s=1"), "--set quantum_s=1 is a parameter of a policy; give --policy"),
    ],
)
def test_a_policy_that_cannot_be_in_force_ends_the_start(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    command = [sys.executable, "-m", "motet.interfaces.cli", "server", *options]
    command += ["--state-dir", str(tmp_path / "state")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "state").exists()


def test_the_policy_is_changed_while_jobs_wait_and_the_change_is_explained(
    server: LiveServer,
) -> None:
    client = server.start()
    job = {"run": "exec sleep 1000", "processes": 2, "workdir": "/"}
    first = client.submit({"name": "first", "duration_s": 1000, **job})
    second = client.submit({"name": "second", "duration_s": 5, **job})
    assert run(server, "policy", "show").stdout.split()[:2] == ["policy", "fifo"]
    shown = json.loads(run(server, "policy", "set", "srtf", "--json").stdout)
    assert (shown["policy"], shown["needs_durations"]) == ("srtf", True)
    wait_until(lambda: client.job(second["id"])["state"] == "RUNNING")
    assert client.job(first["id"])["state"] == "PREEMPTED"
    told = run(server, "explain", first["id"], "--all").stdout
    assert "the policy was changed to srtf by" in told
    with pytest.raises(BadInput, match="duration_s is missing"):
        client.submit({"name": "third", **job})
    third = run(server, "submit", "--duration", "2m", "--", "true").stdout.strip()
    assert client.job(third)["spec"]["duration_s"] == 120
    with pytest.raises(BadInput, match="parameter of tiresias-las"):
        run(server, "policy", "set", "tiresias-las", "--set", "quantum=1")
    shown = run(server, "policy", "set", "tiresias-las", "--set", "quantum_s=2").stdout
    assert "promote_knob=inf" in shown
    assert "quantum_s=2" in shown
    shown = run(server, "policy", "set", "srtf", "--set", "min_runtime=5").stdout
    assert "min_runtime=5" in shown
    server.kill()
    client = server.start()
    assert client.policy()["policy"] == "srtf"
    assert "the policy was changed to srtf by" in run(server, "explain", first["id"]).stdout
