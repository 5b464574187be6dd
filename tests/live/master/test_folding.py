"""A journal is folded without asking a policy, to the state that its master had."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden_journal import GOLDEN_CLUSTER, GoldenLife
from motet.domain.errors import BadInput
from motet.engine.recorded_engine import RecordedEngine
from motet.live.jobs.attempt import AttemptPhase
from motet.live.jobs.job_state import JobState
from motet.live.journal.reading import JournalReader
from motet.live.journal.store import JournalStore
from motet.live.master.intake import ChoosePolicy
from motet.live.master.master import Master
from motet.live.master.replay import ReplayedCluster, declared_by
from motet.live.master.requests import Workplace
from scripted_cluster import ScriptedCluster


def plain(value: Any) -> Any:
    """All that an object holds, as values that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value if isinstance(value, int | str | None) else repr(value)


def contents(cluster: ReplayedCluster) -> dict[str, Any]:
    """State, pending actions and log of an engine, to the last value."""
    engine, log = cluster.engine, cluster._log
    state, requests = engine.state, engine._requests
    held = {job: (hold.placement, hold.jobs) for job, hold in requests._holds.items()}
    return {
        "columns": plain(state.table.columns()),
        "placements": plain(state.placements),
        "suspended": plain(state.suspended),
        "sharing": plain(state.sharing._sets),
        "finished": plain(state.history),
        "room": plain([state.room.gpus, state.room.cpus]),
        "flags": [state.has_shared, state.has_elastic, state.has_demands, state.has_delays],
        "held": plain(held),
        "requests": plain([requests._free, requests._stopping, requests._waiting]),
        "recheck_us": engine.recheck_at_us,
        "log": plain([log._places, log._teams, log._gone, log._decisions_since_look]),
        "known": [plain(log._column(name)) for name in ("code", "position", "queue")],
        "history": {job: repr(cluster.state.history.of(job)) for job in cluster.state.jobs},
        "policy": repr(engine.policy),
    }


def folded(path: Path) -> ReplayedCluster:
    with JournalReader(str(path)) as reader:
        records = reader.records()
        first = next(records)
        cluster = ReplayedCluster(declared_by(first))
        for record in (first, *records):
            cluster.replay(record)
    return cluster


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_a_fold_leads_to_the_same_state_without_a_decision(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = GoldenLife(tmp_path, seed)
    life.live()
    before = contents(life.cluster.master._replayed)
    measured = life.cluster.master._engine._measurements
    life.cluster.close()
    with monkeypatch.context() as patch:
        patch.setattr(RecordedEngine, "_decide", None)
        patch.setattr(RecordedEngine, "_made", None)
        found = folded(tmp_path / "journal.db")
        monkeypatch.undo()
    assert contents(found) == before
    jobs = found.engine.state.jobs
    assert found.engine._measurements is not None
    assert measured is not None
    again, first = found.engine._measurements.estimates(jobs), measured.estimates(jobs)
    assert repr(plain(again)) == repr(plain(first))
