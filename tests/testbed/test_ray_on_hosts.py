"""A testbed with Ray: training crosses the limited links and survives the death of a host."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from motet.testbed import machine
from motet.testbed.hosts import Limits
from motet.testbed.state import read_state
from motet.testbed.status import status_of
from motet.testbed.testbed import Testbed as Bed
from testbed_hosts import hosts, left_behind, motet, on_host

pytestmark = [
    pytest.mark.testbed, pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(300),
]  # fmt: skip

BANDWIDTH_BPS = 50_000_000
SIZED = "synthetic-classification:rows=900,features=2000,classes=20,density=0.02"
TRAIN = (
    sys.executable, "-m", "motet.interfaces.cli", "train", "mlr", "--data", SIZED,
    "--set", "batch_size=300", "--machines", "2", "--workers", "1", "--servers", "1", "--json",
)  # fmt: skip


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    pytest.importorskip("ray")
    with hosts(3, Limits(cpus=0.6, bandwidth_bps=BANDWIDTH_BPS), with_ray=True) as made:
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


def test_nothing_of_it_listens_on_the_machine_itself(bed: Bed) -> None:
    state = read_state(bed.layout)
    labels = [bed.layout.label_of(host) for host in state.blueprint.hosts]
    ours = machine.inhabitants(labels)
    assert len(ours) >= 4 * len(labels)
    assert not [it for it in psutil.net_connections("inet") if it.pid in ours]


def test_a_job_goes_on_elsewhere_when_its_host_is_killed_and_the_host_comes_back(bed: Bed) -> None:
    process = on_host(bed, "front", *TRAIN, "--epochs", "20", "--checkpoint-every", "5", "-v")
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("epoch 2/"):
            break
    victim = executor_host(bed)
    rest = threading.Thread(target=lambda: said.extend(process.stderr or ()))
    rest.start()
    bed.kill([victim])
    assert "dead" in conditions(bed)
    assert process.stdout is not None
    out = process.stdout.read()
    rest.join(timeout=200)
    assert process.wait(timeout=20) == 0, "".join(said)
    assert len(json.loads(out)["recoveries"]) >= 1

    assert motet("testbed", "start", victim, "--name", bed.layout.name).returncode == 0
    assert conditions(bed) == ["up"] * 4


def executor_host(bed: Bed) -> str:
    """A host on which an executor runs."""
    for host in read_state(bed.layout).blueprint.machines:
        members = machine.members(bed.groups.members_files(bed.layout.label_of(host)))
        if any("_ExecutorActor" in " ".join(psutil.Process(it).cmdline()) for it in members):
            return host.name
    raise AssertionError("no executor runs")
