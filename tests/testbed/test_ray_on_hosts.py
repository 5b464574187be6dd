"""A testbed with Ray: training crosses the limited links and survives the failure of a host."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.testbed import machine
from motet.testbed.hosts import Limits
from motet.testbed.state import read_state
from motet.testbed.status import status_of
from motet.testbed.testbed import Testbed as Bed
from testbed_hosts import hosts, left_behind, motet, on_host

pytestmark = [
    pytest.mark.testbed, pytest.mark.cluster, pytest.mark.slow, pytest.mark.soak,
]  # fmt: skip

BANDWIDTH_BPS = 50_000_000
SIZED = "synthetic-classification:rows=900,features=2000,classes=20,density=0.02"
TRAIN = (
    sys.executable, "-m", "motet.interfaces.cli", "train", "mlr", "--data", SIZED,
    "--set", "solver=saga", "--set", "batch_size=300",
    "--machines", "2", "--workers", "1", "--servers", "1", "--json",
)  # fmt: skip
EPOCHS = 30
ALL_HOSTS = (
    "--machines", "3", "--workers", "2", "--servers", "1", "--epochs", str(EPOCHS),
)  # fmt: skip


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    pytest.importorskip("ray")
    with hosts(3, Limits(cpus=1.0, bandwidth_bps=BANDWIDTH_BPS), with_ray=True) as made:
        yield made
    assert left_behind(made) == []


def train(bed: Bed, *more: str) -> dict[str, Any]:
    process = on_host(bed, "front", *TRAIN, *more)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def conditions(bed: Bed) -> list[str]:
    return [host.condition for host in status_of(bed).hosts]


def test_a_job_needs_no_flag_to_find_the_hosts_and_its_bytes_cross_the_links(bed: Bed) -> None:
    document = train(bed, "--epochs", "3", "-q")
    crossing_s = document["bytes_pulled"] * 8 / BANDWIDTH_BPS
    # What a full bucket lets through at once is the only thing that is faster than the link.
    assert sum(document["epoch_s"]) > 0.8 * crossing_s
    assert document["recoveries"] == []


def test_the_front_takes_no_executor(bed: Bed) -> None:
    process = on_host(bed, "front", *TRAIN, "--machines", "4", "-q")
    _, err = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "has 3 node(s); lower --machines or add nodes" in err


def test_no_port_is_open_on_the_machine_itself(bed: Bed) -> None:
    state = read_state(bed.layout)
    labels = [bed.layout.label_of(host) for host in state.blueprint.hosts]
    ours = machine.processes_in(labels)
    assert len(ours) >= 3 * len(labels)
    assert not [it for it in psutil.net_connections("inet") if it.pid in ours]


class Training:
    """A job on the hosts, followed line by line."""

    def __init__(self, bed: Bed, *more: str) -> None:
        self._process = on_host(bed, "front", *TRAIN, *more, "-v")
        self.said: list[str] = []

    def wait_for(self, part: str) -> None:
        """Wait until the job prints a line."""
        for line in self._process.stderr or ():
            self.said.append(line)
            if part in line:
                return
        raise AssertionError(f"ended before it said {part!r}: {self.said}")

    def result(self) -> dict[str, Any]:
        """The job's final output."""
        rest = threading.Thread(target=lambda: self.said.extend(self._process.stderr or ()))
        rest.start()
        assert self._process.stdout is not None
        out = self._process.stdout.read()
        rest.join(timeout=200)
        assert self._process.wait(timeout=100) == 0, "".join(self.said)
        document: dict[str, Any] = json.loads(out)
        return document


def test_a_job_continues_on_other_hosts_after_a_kill_and_the_host_returns(bed: Bed) -> None:
    training = Training(bed, "--epochs", "20", "--checkpoint-every", "5")
    training.wait_for("epoch 2/")
    victim = executor_host(bed)
    bed.kill([victim])
    assert "dead" in conditions(bed)
    assert len(training.result()["recoveries"]) >= 1
    come_back(bed, victim)


def test_a_job_leaves_a_draining_host_without_losing_an_update(bed: Bed) -> None:
    parameters = {"solver": "saga", "batch_size": 300, "epochs": EPOCHS, "random_state": 0}
    undisturbed = load_application("mlr")(**parameters)
    undisturbed.fit(open_dataset(SIZED))
    training = Training(bed, *ALL_HOSTS)
    training.wait_for("epoch 2/")
    bed.give_notice(["m2"], 60)
    training.wait_for("reconfigured after")
    bed.kill(["m2"])
    document = training.result()
    assert document["recoveries"] == []
    assert document["loss"] == pytest.approx(undisturbed.loss_curve_, rel=1e-6)
    come_back(bed, "m2")


def test_a_job_continues_with_fewer_hosts_without_a_spare(bed: Bed) -> None:
    training = Training(bed, *ALL_HOSTS)
    training.wait_for("epoch 2/")
    bed.kill(["m0"])
    document = training.result()
    assert len(document["recoveries"]) >= 1
    assert "going on without m0\n" in training.said
    assert len(document["loss"]) == EPOCHS
    come_back(bed, "m0")


def test_reclaim_drains_a_host_and_then_kills_it(bed: Bed) -> None:
    done = motet("testbed", "reclaim", "m1", "--notice", "1s", "--name", bed.layout.name)
    assert done.stderr == "to be killed in 1 s: m1\nkilled: m1\n"
    assert conditions(bed) == ["up", "up", "dead", "up"]
    again = motet("testbed", "reclaim", "m1", "--notice", "1s", "--name", bed.layout.name)
    assert again.returncode == 2
    assert "m1: no Ray runs there" in again.stderr
    come_back(bed, "m1")


def come_back(bed: Bed, host: str) -> None:
    assert motet("testbed", "start", host, "--name", bed.layout.name).returncode == 0
    assert conditions(bed) == ["up"] * 4


def executor_host(bed: Bed) -> str:
    """A host on which an executor runs."""
    for host in read_state(bed.layout).blueprint.machines:
        members = machine.members(bed.groups.members_files(bed.layout.label_of(host)))
        if any("ExecutorActor" in " ".join(psutil.Process(it).cmdline()) for it in members):
            return host.name
    raise AssertionError("no executor runs")
