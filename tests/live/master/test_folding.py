"""A journal is folded without asking a policy, to the state that its master had."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edited_policy import own_policy
from golden_journal import GoldenLife
from motet.domain.errors import BadInput
from motet.engine.recorded_engine import RecordedEngine
from motet.live.jobs.attempt import AttemptPhase
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.journal.reading import JournalReader
from motet.live.journal.store import JournalStore
from motet.live.master.intake import ChoosePolicy
from motet.live.master.master import Master
from motet.live.master.replay import ReplayedCluster, declared_by
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit
from scripted_cluster import ScriptedCluster
from soak_cases import others_in_soak

JOB = {"name": "job", "run": "true", "workdir": "/"}


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
        "log": plain([log._places._of_job, log._gone, log._decisions_since_look]),
        "known actions": plain([log._begun, log._refused]),
        "known": [plain(log._columns[name]) for name in ("code", "position", "queue")],
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


@pytest.mark.parametrize("seed", others_in_soak([3, 5, 8], [3]))
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


def running_cluster(folder: Path, policy: ChoosePolicy) -> ScriptedCluster:
    """Jobs 1 and 2 run on all slots, job 3 waits."""
    cluster = ScriptedCluster(folder, policy)
    for _ in range(3):
        cluster.submit(processes=2)
    cluster.handle(cluster.launcher.started("1.1"), cluster.launcher.started("2.1"))
    return cluster


def restarted(cluster: ScriptedCluster, policy: ChoosePolicy | None = None) -> None:
    """As `motet server`, without or with --policy."""
    cluster.replay()
    cluster.master.choose_first(policy)
    cluster.launcher.receive(cluster.master.pending_requests)


def test_jobs_go_on_when_their_policy_has_been_edited(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    cluster = running_cluster(tmp_path, own_policy(path))
    own_policy(path, order=-1)
    restarted(cluster)
    phases = [cluster.job(job).attempts[-1].phase for job in (1, 2)]
    assert phases == [AttemptPhase.RUNNING] * 2
    assert cluster.launcher.stopping == set()
    assert cluster.master.divergence is None
    assert cluster.master._engine.state.table.column("seen").tolist() == [3, 2, 1]
    cluster.handle(cluster.launcher.ended("2.1"))  # From now on the newest jobs come first.
    cluster.submit(processes=2)
    assert cluster.launcher.stopping == {"1.1"}
    restarted(cluster)
    assert cluster.job(4).state is JobState.PENDING
    cluster.close()


def test_a_policy_whose_columns_were_edited_keeps_those_that_stay(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    cluster = running_cluster(tmp_path, own_policy(path))
    own_policy(path, columns="{'seen': 0, 'other': 7}")
    restarted(cluster)
    cluster.submit()
    columns = cluster.master._engine.state.table
    assert columns.column("seen").tolist() == [4, 3, 2, 1]
    assert columns.column("other").tolist() == [8, 8, 8, 8]
    before = contents(cluster.master._replayed)
    cluster.replay()
    path.unlink()
    found = cluster.master._replayed
    assert plain(found.engine.state.table.columns()) == before["columns"]
    cluster.close()


def test_a_deleted_policy_is_needed_only_to_decide(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    cluster = running_cluster(tmp_path, own_policy(path))
    path.unlink()
    cluster.replay()
    with pytest.raises(BadInput, match=r"mine\.py: no such file; .* --policy NAME"):
        cluster.master.choose_first(None)
    restarted(cluster, ChoosePolicy("fifo"))
    assert [cluster.job(job).state for job in (1, 2, 3)] == [
        JobState.RUNNING,
        JobState.RUNNING,
        JobState.PENDING,
    ]
    cluster.handle(cluster.launcher.ended("1.1"))
    assert cluster.job(3).state is JobState.STARTING
    restarted(cluster)
    assert cluster.launcher.stopping == set()
    cluster.close()


def test_a_policy_that_no_longer_works_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    cluster = running_cluster(tmp_path, own_policy(path))
    path.write_text(path.read_text().replace("filled.gpus,", "filled.gpus + 99,"))
    cluster.replay()
    with pytest.raises(BadInput, match=r"mine\.py.* --policy NAME"):
        cluster.master.choose_first(None)
    cluster.close()


def test_an_earlier_format_needs_no_policy_either(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    cluster = running_cluster(tmp_path, own_policy(path))
    before = [(job.state, job.attempts) for job in cluster.master.state.jobs.values()]
    assert cluster.store is not None
    records = [*cluster.store.records()]
    cluster.close()
    path.unlink()
    earlier = tmp_path / "earlier"
    with JournalStore(str(earlier / "journal.db")) as store:
        store.append([replace(record, decision=None) for record in records])
        master = Master(store, cluster.declared, Workplace(earlier, {}), lambda: 2 * 10**15)
        after = [(job.state, job.attempts) for job in master.state.jobs.values()]
        assert after == before
        assert master.divergence is not None
        master.choose_first(ChoosePolicy("fifo"))
    assert plain(folded(earlier / "journal.db").engine.state.placements) == {
        "1": [[0], [2]],
        "2": [[1], [2]],
    }


def failing_policy(path: Path, columns: str) -> ChoosePolicy:
    """Raises when a job with a priority is there; estimates are fitted before."""
    own_policy(path, columns=columns)
    text = path.read_text().replace(
        "    def decide(self, snapshot):\n",
        "    def decide(self, snapshot):\n"
        "        assert not (snapshot.jobs.priority > 0).any(), 'never'\n",
    )
    assert "never" in text
    path.write_text(text)
    return ChoosePolicy(str(path))


@pytest.mark.parametrize("end", ["fails", "goes on without", "another one"])
def test_a_fold_over_a_policy_that_failed_leads_to_the_same_state(end: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    cluster = running_cluster(tmp_path, own_policy(path))
    wanted = failing_policy(path, "{'seen': 0, 'other': 7}")
    restarted(cluster)
    cluster.handle(  # The job has an end in the log of the step in which the policy fails.
        cluster.launcher.ended("1.1"), Submit(job_spec({**JOB, "priority": 1}), "ann")
    )
    assert cluster.master.state.policy_failure
    if end != "fails":
        cluster.submit()
        cluster.handle(cluster.launcher.ended("2.1"))
    if end == "another one":
        cluster.ask(ChoosePolicy("tiresias-las"))
        assert not cluster.master.state.policy_failure
    before = contents(cluster.master._replayed)
    path.unlink()
    found = folded(tmp_path / "journal.db")
    assert found.state.policy_failure == cluster.master.state.policy_failure
    if end != "another one":
        with pytest.raises(BadInput):
            _ = found.engine.policy
        failing_policy(path, "{'seen': 0, 'other': 7}")
    assert contents(found) == before
    if end != "another one":
        path.unlink()
        cluster.replay()
        cluster.master.choose_first(None)
        cluster.submit()
        cluster.master.choose_first(wanted)
        assert cluster.master.state.policy_failure
    cluster.close()
