"""Devices, pipes and folders where a file is asked for: one clear error, nothing is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from motet.apps import load_model
from motet.datasets import open_dataset
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import MotetError
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.interfaces.cli.live.job_file import job_values
from motet.interfaces.cli.plan.fields import read_fields
from motet.interfaces.cli.train.reconfigure_entry import read_entries
from motet.sim.cluster_file import open_cluster
from motet.sim.profiles.reading import open_profiles
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.traces import read_trace
from motet.testbed.hosts import Limits
from motet.testbed.types_file import read_types
from motet.transport.secret_file import read_secret


def _policy_with(path: Path) -> object:
    return make_policy(*find_policy("tiresias-las"), {"thresholds": f"@{path}"})


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "dataset": ("a.csv", open_dataset),
    "model": ("model.npz", load_model),
    "trace": ("a.csv", read_trace),
    "profiles": ("a.csv", open_profiles),
    "cluster table": ("a.csv", lambda path: open_cluster(str(path))),
    "cluster list": ("a.yaml", lambda path: open_cluster(str(path))),
    "machine events": ("a.csv", lambda path: read_machine_events(path, ClusterSpec.uniform(2, 4))),
    "machine types": ("a.csv", lambda path: read_types(path, Limits())),
    "machine type list": ("a.yaml", lambda path: read_types(path, Limits())),
    "reconfigurations": ("a.yaml", read_entries),
    "plan": ("a.yaml", read_fields),
    "policy numbers": ("a.txt", _policy_with),
    "job": ("a.yaml", lambda path: job_values(path, (), (), {})),
    "secret": ("secret", read_secret),
}


@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_in_one_line(reader: str, kind: str, tmp_path: Path) -> None:
    name, read = READERS[reader]
    path = tmp_path / name
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(MotetError) as caught:
        read(path)
    message = str(caught.value)
    assert kind in message
    assert str(path) in message
    assert "\n" not in message
