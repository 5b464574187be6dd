"""`motet testbed` under faults: an `up` that is ended, two testbeds, a user without rights."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import unix_user_of_motet
from motet.testbed.testbed import Testbed as Bed
from soak_cases import others_in_soak
from testbed_hosts import MOTET, bare_testbed, hosts, left_behind, motet, said_on

pytestmark = [pytest.mark.testbed, pytest.mark.timeout(500)]

STEPS = ("making", "starting Ray on the front", "starting Ray on 2 hosts")
LONGEST_DELAY_S = 8.0
TRAIN = (
    *("train", "lda", "--data", "pydoc", "--epochs", "5"),
    *("--machines", "1", "--workers", "1", "--servers", "1", "--json", "-q"),
)


@pytest.fixture
def bed() -> Iterator[Bed]:
    """Nothing is there yet."""
    made = bare_testbed()
    yield made
    made.down()


def started_up(bed: Bed, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MOTET, "testbed", "up", "--machines", "2", "--name", bed.layout.name, *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def end_at_random(up: subprocess.Popen[str], number: signal.Signals, seed: int) -> int:
    """Some time after one of the steps; returns the exit code."""
    draw = random.Random(f"{number} {seed}")
    step = draw.choice(STEPS)
    assert up.stderr is not None
    for line in up.stderr:
        if line.startswith(step):
            break
    time.sleep(draw.uniform(0, LONGEST_DELAY_S))
    up.send_signal(number)
    up.stderr.read()
    return up.wait()


def removed(bed: Bed) -> str:
    ended = motet("testbed", "down", "--name", bed.layout.name)
    assert ended.returncode == 0, ended.stderr
    assert left_behind(bed) == []
    return ended.stderr


@pytest.mark.soak
@pytest.mark.cluster
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_signal_at_any_moment_removes_hosts_and_ray(
    bed: Bed, number: signal.Signals, seed: int
) -> None:
    code = end_at_random(started_up(bed), number, seed)
    if code == 0:  # It had finished before.
        assert f"removed testbed {bed.layout.name}: 2 hosts" in removed(bed)
        return
    assert code == 130
    assert left_behind(bed) == []
    assert "nothing to remove" in removed(bed)


@pytest.mark.soak
@pytest.mark.cluster
@pytest.mark.parametrize("seed", range(4))
def test_down_removes_hosts_and_ray_of_a_killed_up(bed: Bed, seed: int) -> None:
    end_at_random(started_up(bed), signal.SIGKILL, seed)
    again = motet("testbed", "up", "--machines", "2", "--name", bed.layout.name)
    assert (again.returncode, again.stdout, again.stderr.count("\n")) == (2, "", 1)
    assert f"testbed {bed.layout.name!r}" in again.stderr
    assert f"remove it with 'motet testbed down --name {bed.layout.name}'" in again.stderr
    removed(bed)


@pytest.mark.soak
@pytest.mark.parametrize("name", others_in_soak(["state.json", "ray.m1"], ["ray.m1"]))
def test_a_second_up_says_that_the_first_one_did_not_finish(bed: Bed, name: str) -> None:
    up = started_up(bed, "--no-ray", "--cpus", "0.2")
    while not (bed.layout.folder / name).exists() and up.poll() is None:
        time.sleep(0.001)
    up.kill()
    up.communicate()
    again = motet("testbed", "up", "--machines", "2", "--no-ray", "--name", bed.layout.name)
    assert again.returncode == 2
    assert again.stderr == (
        f"motet: error: an incomplete testbed {bed.layout.name!r} exists, whose 'motet testbed up' "
        f"did not finish; remove it with 'motet testbed down --name {bed.layout.name}', or choose "
        "another --name\n"
    )
    removed(bed)


@pytest.mark.soak
def test_two_testbeds_do_not_disturb_each_other() -> None:
    one, two = bare_testbed(), bare_testbed()
    both = [started_up(each, "--no-ray") for each in (one, two)]
    try:
        errors = [up.communicate()[1] for up in both]
        assert [up.returncode for up in both] == [0, 0], errors
        for each in (one, two):
            assert "10.77.0.1/24" in said_on(each, "m0", "ip", "-br", "-4", "addr", "show", "eth0")
        one.partition(["m1"])
        assert conditions(two) == ["up", "up", "up"]
        assert conditions(one) == ["up", "up", "partitioned"]
        one.down()
        assert left_behind(one) == []
        assert conditions(two) == ["up", "up", "up"]
    finally:
        one.down()
        two.down()
    assert left_behind(two) == []


@pytest.mark.soak
@pytest.mark.cluster
def test_two_testbeds_train_at_the_same_time() -> None:
    with ExitStack() as stack:
        beds = [stack.enter_context(hosts(1, with_ray=True)) for _ in range(2)]
        runs = [
            subprocess.Popen(
                [*MOTET, "testbed", "run", "--name", bed.layout.name, "--", *MOTET, *TRAIN],
                stdout=subprocess.PIPE,
                text=True,
            )
            for bed in beds
        ]
        models = {json.loads(run.communicate()[0])["model_sha256"] for run in runs}
    assert len(models) == 1
    assert [left_behind(bed) for bed in beds] == [[], []]


def conditions(bed: Bed) -> list[str]:
    status = motet("testbed", "status", "--name", bed.layout.name, "--json")
    return [host["condition"] for host in json.loads(status.stdout)["hosts"]]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    "arguments",
    [
        ("up", "--machines", "2"),
        *(
            pytest.param(each, marks=pytest.mark.soak)
            for each in (("down",), ("status",), ("kill", "m0"), ("run", "--", "true"))
        ),
    ],
    ids=" ".join,
)
def test_a_user_without_rights_gets_one_line(arguments: tuple[str, ...]) -> None:
    ended = subprocess.run(
        [sys.executable, Path(unix_user_of_motet.__file__), "testbed", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "motet: error: a testbed needs root, for network namespaces and control groups; run it "
        "with sudo\n"
    )
