"""What readers hand over (`Jobs`), and what a trace is once it is checked and sorted (`Trace`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.interventions import Interventions
from motet.sim.workload.workload import Workload

MORE_COLUMNS = (
    "num_cpus",
    "num_nodes",
    "batch_size",
    "iterations",
    "priority",
    "state",
    "start_time",
    "end_time",
)
"""Columns of a motet CSV that are kept as text; no policy reads any but `num_cpus`."""


@dataclass(frozen=True)
class Jobs:
    """Columns as they stand in a file, a row per job, bad rows included (numbers there: 0).

    `lines`: the line of each row, from 1. `text`: `user`, `queue`, `experiment`, `model` and
    `MORE_COLUMNS`, as far as the format knows them. `notices`: what the reader left out or assumed.
    `work`: of elastic jobs. `cpus`, `memory_bytes`: of the full request, 0 where it does not
    matter; none where the format does not know them. `interventions`: of users. `sha256`: of the
    file with those that it names; None: of the file alone.
    """

    lines: Sequence[int]
    ids: Sequence[str]
    submit_us: Sequence[int]
    duration_us: Sequence[int]
    gpus: Sequence[int]
    text: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    work: WorkModels | None = None
    cpus: Sequence[int] = ()
    memory_bytes: Sequence[int] = ()
    sha256: str | None = None
    interventions: Interventions | None = None

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, eq=False)
class Trace:
    """Jobs ready to replay, and where they come from.

    `sha256`: of the file's bytes as they lie on disk, and, where it names files with loss curves,
    of theirs. `notices`: one line each for people.
    `skipped`: bad rows that were left out, by reason. `more`: `MORE_COLUMNS` that the file has, as
    text, in the workload's order.
    """

    workload: Workload
    format: str
    sha256: str
    notices: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    more: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Trace: {len(self.workload):,} jobs, {self.format}, sha256 {self.sha256[:12]}>"
