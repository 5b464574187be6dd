"""The jobs of `motet demo` and when they arrive. Long ones come first: short ones overtake them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import motet

_NETWORK = "motet.interfaces.demo_jobs.digits_network"


@dataclass(frozen=True)
class Arrival:
    """A job that is submitted `at_s` seconds after the first one. `values`: its job file."""

    at_s: float
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the job."""
        return str(self.values["name"])


def demo_workload(workdir: Path) -> list[Arrival]:
    """A dozen jobs on data that every installation has, in the order of their arrival.

    `workdir`: an existing folder.

    Trainings on a parameter server, and commands: a neural network that keeps checkpoints, as one
    process or two, and a simulation.
    """
    arrivals = [
        (0, _training("topics", "lda", "pydoc", 2, 1, epochs=500, topics=20, tol=0)),
        (1, _network("network", processes=2, epochs=900)),
        (8, _training("digits", "mlr", "digits:part=train", 1, 1, test="digits:part=test")),
        (13, _network("rate-0.1", processes=1, epochs=240, rate=0.1)),
        (18, _training("parts", "nmf", "digits-ratings", 2, 1, epochs=300, rank=16)),
        (23, _network("rate-0.01", processes=1, epochs=240, rate=0.01)),
        (28, _training("diabetes", "lasso", "diabetes", 1, 1, l1_ratio_of_max=0.05)),
        (34, _simulation("simulation")),
        (40, _network("rate-0.001", processes=1, epochs=240, rate=0.001)),
        (46, _training("cancer", "mlr", "breast-cancer", 1, 1)),
        (53, _network("network-2", processes=2, epochs=300)),
        (60, _training("wine", "mlr", "wine", 1, 1)),
    ]
    placed = {"workdir": str(workdir)}
    return [Arrival(at_s, {**values, **placed}) for at_s, values in arrivals]


def _training(
    name: str,
    app: str,
    data: str,
    workers: int,
    servers: int,
    epochs: int | None = None,
    test: str | None = None,
    **settings: float,
) -> dict[str, Any]:
    values = {"name": name, "kind": "ps", "app": app, "data": data, "set": settings}
    roles = {"workers": workers, "servers": servers}
    optional = {"epochs": epochs, "test": test}
    return {**values, **roles, **{key: it for key, it in optional.items() if it is not None}}


def _network(name: str, *, processes: int, epochs: int, rate: float = 0.01) -> dict[str, Any]:
    words = ["-m", _NETWORK, "--epochs", str(epochs), "--rate", str(rate)]
    return _command(name, processes, words)


def _simulation(name: str) -> dict[str, Any]:
    words = ["-m", "motet.interfaces.cli", "simulate", "--trace", "tiresias-480"]
    return _command(
        name, 1, [*words, "--cluster", "15x4", "--policy", "fifo,tiresias-las", "--seeds", "3"]
    )


def _command(name: str, processes: int, words: list[str]) -> dict[str, Any]:
    home = str(Path(motet.__file__).parents[1])
    run = [sys.executable, "-P", *words]
    return {"name": name, "run": run, "processes": processes, "envs": {"PYTHONPATH": home}}
