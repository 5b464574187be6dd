"""The policy of a real server: refused at the start, shown, changed, explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from live_server import LiveServer
from marked_process import run_motet
from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
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
        (("--policy", "fifo", "--set", "min_runtim=1"), "did you mean 'min_runtime'?"),
        (("--policy", "fiffo"), "unknown policy 'fiffo'"),
        (("--policy", "themis", "--set", "lease_s=0"), "lease_s=0"),
        (("--set", "quantum_s=1"), "--set quantum_s=1 is a parameter of a policy; give --policy"),
    ],
)
def test_a_policy_that_cannot_be_in_force_ends_the_start(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    ended = run_motet("server", *options, "--state-dir", tmp_path / "state")
    assert (ended.code, ended.left_running) == (2, {})
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert not (tmp_path / "state").exists()


OVER_ALLOCATES = """
from dataclasses import dataclass, replace
from motet.domain.policy import Policy
from motet.policies.fifo import Fifo

@dataclass(frozen=True)
class Own(Policy):
    def decide(self, snapshot):
        decision = Fifo().decide(snapshot)
        return replace(decision, gpus=decision.gpus * (3 if len(decision.gpus) > 1 else 1))

POLICIES = {"own": Own}
"""


@pytest.mark.soak
def test_a_policy_that_fails_is_told_everywhere_and_replaced_after_a_restart(
    server: LiveServer, tmp_path: Path
) -> None:
    own = tmp_path / "own.py"
    own.write_text(OVER_ALLOCATES.replace("> 1", "> 0"))
    client = server.start()
    with pytest.raises(BadInput, match=r"own.py:8 in decide: .* 3 GPUs allocated of 2"):
        run(server, "policy", "set", str(own))
    own.write_text(OVER_ALLOCATES)
    running = client.submit({"name": "one", "run": "exec sleep 1000", "workdir": "/"})["id"]
    wait_until(lambda: client.job(running)["state"] == "RUNNING")
    run(server, "policy", "set", str(own))
    waiting = client.submit({"name": "two", "run": "true", "workdir": "/"})
    assert waiting["reason"] == "PolicyFailed"
    for _ in range(2):
        listed = run(server, "list")
        assert "own.py:8 in decide" in listed.stderr
        assert "choose another with motet policy set" in listed.stderr
        checked = run(server, "doctor", "--json")
        (found,) = [
            each for each in json.loads(checked.stdout)["checks"] if each["subject"] == "policy"
        ]
        assert found["verdict"] == "wrong"
        assert "of 2" in json.loads(run(server, "policy", "show", "--json").stdout)["failure"]
        assert page(server, "/").count("The policy failed: ") == 1
        assert client.job(running)["state"] == "RUNNING"
        server.kill()
        client = server.start()
    run(server, "policy", "set", "fifo")
    wait_until(lambda: client.job(waiting["id"])["state"] == "SUCCEEDED")
    assert "policy" not in run(server, "list").stderr
    assert page(server, "/").count("The policy failed: ") == 0


def page(server: LiveServer, path: str) -> str:
    """A page of the web interface."""
    address = ServerAddress.find(folder=server.folder)
    with httpx.Client(base_url=address.url, verify=NO_TLS) as browser:
        browser.post("/login", data={"token": address.token, "next": "/"})
        return browser.get(path).text


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
