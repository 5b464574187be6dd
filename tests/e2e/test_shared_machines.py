"""Trainings that share machines on a real server go on when an arbiter or a neighbour fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil
import pytest

import greedy_training
from held_training import held_file
from live_server import LiveServer
from live_trainings import PROGRAM, ended, record_of, undisturbed
from motet.domain.events import SubtasksMeasured, event_from_json
from motet.interfaces.client import LiveClient
from motet.live.journal.store import JournalStore
from motet.live.slots.memory_groups import group_parent, make_memory_group, remove_memory_group
from waiting import wait_until

pytestmark = pytest.mark.cluster

EPOCHS = 30
SAGA = {"tol": 0, "solver": "saga", "batch_size": 300}
"""Mini-batches, which may be asynchronous."""
GREEDY = greedy_training.__file__


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """It regroups jobs at their arrivals and ends only."""
    options = ("--cluster", "2x1", "--policy", "harmony", "--set", "check_s=3600")
    found = LiveServer(tmp_path / "state", *options)
    yield found
    found.kill_everything()
    for each in arbiters(found):
        each.kill()


def submit(client: LiveClient, go: Path, **more: Any) -> str:
    """A training that stays in its 21st epoch until `go` is there."""
    values: dict[str, Any] = {
        "name": "fit",
        "app": PROGRAM,
        "data": "digits",
        "machines": "any",
        "set": {"tol": 0},
        "epochs": EPOCHS,
        "checkpoint_every": 5,
        "envs": {"HELD_UNTIL": str(go), "EPOCH_S": "0.05"},
        "workdir": "/",
        **more,
    }
    job: str = client.submit(values)["id"]
    return job


def attempts(client: LiveClient, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.job(job)["attempt_list"]
    return found


def arbiters(server: LiveServer) -> list[psutil.Process]:
    """Those of the machines of this server."""
    places = (str(server.folder / "arbiters" / machine) for machine in ("m0", "m1"))
    module = "motet.runtime.arbiter.arbiter_process"
    return [each for place in places for each in processes_with(module, place)]


def processes_with(*words: str) -> list[psutil.Process]:
    """Those that have these words in their command lines."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if {*words} <= {*each.cmdline()}:
                found.append(each)
    return found


def executor_of(server: LiveServer, job: str) -> psutil.Process:
    """The process of a job's first attempt that hosts its worker and its server."""
    gang = str(server.folder / "attempts" / job / "1" / "gang")
    (found,) = processes_with("motet.runtime.backends.gang.executor_process", gang)
    return found


def measured(server: LiveServer) -> list[SubtasksMeasured]:
    """The profiles in the journal."""
    with JournalStore(str(server.folder / "journal.db")) as store:
        steps = [json.loads(record.events) for record in store.records()]
    events = [event_from_json(each) for step in steps for each in step]
    return [event for event in events if isinstance(event, SubtasksMeasured)]


def profiled(server: LiveServer) -> set[str]:
    """Jobs whose COMP and COMM times are in the journal."""
    return {str(event.job) for event in measured(server)}


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_neighbours_of_failures_on_shared_machines_train_on(
    server: LiveServer, tmp_path: Path
) -> None:
    client, go = server.start(), {name: tmp_path / name for name in ("one", "two", "three")}
    one, two, three = (submit(client, path) for path in go.values())
    wait_until(lambda: all(held_file(path).exists() for path in go.values()))
    places = [attempts(client, job)[0]["placement"] for job in (one, two, three)]
    assert places == [{"m0": 1}, {"m1": 1}, {"m0": 1}]

    for each in [*arbiters(server), executor_of(server, three)]:
        each.kill()
    held_file(go["three"]).unlink()
    wait_until(held_file(go["three"]).exists)  # It is back in the epoch that does not end.
    go["one"].touch()
    assert record_of(ended(client, one))["epochs"] == EPOCHS
    assert [each["outcome"] for each in attempts(client, one)] == ["succeeded"]

    # The last one gets all machines.
    client.change(two, "cancel")
    assert ended(client, two)["state"] == "CANCELLED"
    wait_until(lambda: attempts(client, three)[-1]["phase"] == "stopping")
    go["three"].touch()
    record, expected = record_of(ended(client, three)), undisturbed(EPOCHS, 2, 2)
    last = attempts(client, three)[-1]
    assert (last["workers"], last["servers"], last["placement"]) == (2, 2, {"m0": 1, "m1": 1})
    assert record["epochs"] == EPOCHS
    assert record["loss"] == pytest.approx(expected["loss"], rel=1e-9)
    server.end()
    assert profiled(server) == {one, two, three}


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_training_alone_is_asynchronous_after_its_next_start(tmp_path: Path) -> None:
    more = ("--set", "check_s=3600", "--set", "async_efficiency=1")
    server = LiveServer(tmp_path / "state", "--cluster", "2x1", "--policy", "harmony", *more)
    client, go = server.start(), {name: tmp_path / name for name in ("one", "two")}
    try:
        asked = {"allow_async": True, "set": SAGA}
        one, two = (submit(client, path, **asked) for path in go.values())
        wait_until(lambda: all(held_file(path).exists() for path in go.values()))
        client.change(two, "cancel")
        assert ended(client, two)["state"] == "CANCELLED"
        wait_until(lambda: attempts(client, one)[-1]["phase"] == "stopping")
        go["one"].touch()
        assert record_of(ended(client, one))["epochs"] == EPOCHS
        assert len(attempts(client, one)) == 2
        server.end()
        own = [event for event in measured(server) if str(event.job) == one]
        assert [event.overlaps for event in own if event.machines == 1][-1] is None
        assert {event.overlaps for event in own if event.machines == 2} == {True}
    finally:
        server.kill_everything()
        for each in arbiters(server):
            each.kill()


ALONE_ASYNCHRONOUS = """
from dataclasses import dataclass, replace

from motet.domain.estimates import Overlap
from motet.policies.harmony import Harmony


@dataclass(frozen=True)
class AloneAsynchronous(Harmony):
    def decide(self, snapshot):
        decision, subtasks = super().decide(snapshot), snapshot.wanted_estimates.subtasks
        if subtasks is None:
            return decision
        alone = (subtasks.overlap == Overlap.PERMITTED) & (len(snapshot.jobs) == 1)
        return replace(decision, asynchronous=alone)


POLICIES = {"alone_asynchronous": AloneAsynchronous}
"""


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_training_changes_its_mode_on_the_same_machine_and_back(tmp_path: Path) -> None:
    policy, go = tmp_path / "alone.py", tmp_path / "go"
    policy.write_text(ALONE_ASYNCHRONOUS)
    go.touch()
    more = ("--policy", str(policy), "--set", "check_s=3600")
    server = LiveServer(tmp_path / "state", "--cluster", "1x1", *more)
    client, endless = server.start(), {"epochs": 1_000_000, "set": SAGA}
    try:
        one = submit(client, go, **endless, allow_async=True)
        wait_for_epochs(client, one, attempt=1)
        two = submit(client, go, **endless)
        wait_for_epochs(client, one, attempt=2)
        client.change(two, "cancel")
        wait_for_epochs(client, one, attempt=3)
        assert [each["placement"] for each in attempts(client, one)] == [{"m0": 1}] * 3
        client.change(one, "cancel")
        assert ended(client, one)["state"] == "CANCELLED"
        server.end()
        own = [event.overlaps for event in measured(server) if str(event.job) == one]
        assert [mode for mode, _ in groupby(own)] == [True, None, True]
    finally:
        server.kill_everything()
        for each in arbiters(server):
            each.kill()


def wait_for_epochs(client: LiveClient, job: str, attempt: int) -> None:
    """Until an attempt of a job has done epochs; none is done twice for a change of the mode."""
    wait_until(lambda: len(attempts(client, job)) == attempt)
    progress = client.job(job)["progress"]
    before = progress["epochs_done"] if progress else 0
    wait_until(lambda: (client.job(job)["progress"] or {"epochs_done": 0})["epochs_done"] > before)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_neighbour_that_exceeds_its_memory_is_killed_alone(tmp_path: Path) -> None:
    probe = make_memory_group(tmp_path, 10**9, group_parent())
    if probe is None:
        pytest.skip("control groups of memory are not permitted here")
    remove_memory_group(probe.folder)
    server = LiveServer(tmp_path / "state", "--cluster", "1x1", "--policy", "harmony")
    client, go, told = server.start(), tmp_path / "go", tmp_path / "process"
    try:
        neighbour = submit(client, go)
        wait_until(held_file(go).exists)
        greedy = submit(
            client, go, app=GREEDY, memory="1.5GB", envs={"GREEDY": str(told), "EPOCH_S": "0"}
        )
        wait_until(told.exists)
        process = int(told.read_text())
        assert [each["placement"] for each in attempts(client, greedy)[:1]] == [{"m0": 1}]
        wait_until(lambda: not psutil.pid_exists(process))
        assert client.job(neighbour)["state"] == "RUNNING"
        go.touch()
        assert record_of(ended(client, neighbour))["epochs"] == EPOCHS
        assert [each["outcome"] for each in attempts(client, neighbour)] == ["succeeded"]
        assert record_of(ended(client, greedy))["epochs"] == EPOCHS  # It goes on from its start.
        server.end()
        assert all(each.memory_bytes for each in measured(server))
    finally:
        server.kill_everything()
