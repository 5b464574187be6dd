"""Which processes have a log, by attempts of different sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.server.logs import log_path, log_place, read_log
from motet.live.jobs.job import LiveJob
from motet.live.launcher.messages import AttemptEnded, AttemptProposed, RankExit, SizeWish
from motet.live.master.facts import ClusterDeclared
from motet.live.master.requests import Workplace
from motet.live.upkeep.old_jobs import forget_files
from scripted_cluster import ScriptedCluster

GONE = b"[this log is no longer in the state folder: deleted by --keep-days or by hand]\n"
BOUNDS = {"workers": {"min": 1, "max": 6}, "servers": {"min": 1, "max": 2}}

STARTED = RankExit(None, 15, "stopped", 1.0, 2.0)
NOT_STARTED = RankExit(None, None, "never_started", None, 2.0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=ClusterDeclared(("m0", "m1"), (4, 4)))
    yield found
    found.close()


@pytest.fixture
def grown(cluster: ScriptedCluster) -> LiveJob:
    """A training with 2 processes first, now with 6, of 8 at most."""
    job = cluster.train(auto=True, **BOUNDS)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(AttemptProposed(f"{job}.1", SizeWish(1, 4, 2, 0.25)))
    cluster.ask(cluster.launcher.ended(f"{job}.1", 75, "stopped"))
    return cluster.job(job)


def test_an_attempt_has_the_logs_of_its_own_processes(
    cluster: ScriptedCluster, grown: LiveJob
) -> None:
    state = cluster.master.state
    assert log_place(state, grown.number, 1, 1).ranks == 2
    assert log_place(state, grown.number, 2, 5).ranks == 6
    with pytest.raises(BadInput, match=r"^attempt 1 of job 1 has processes 0 to 1: choose") as one:
        log_place(state, grown.number, 1, 2)
    assert one.value.exit_code == 2


def test_a_process_that_a_later_attempt_may_have_is_awaited_until_the_job_has_ended(
    cluster: ScriptedCluster, grown: LiveJob
) -> None:
    state = cluster.master.state
    assert not log_place(state, grown.number, 0, 7).has_ended
    with pytest.raises(BadInput, match="has processes 0 to 5"):
        log_place(state, grown.number, 0, 8)
    cluster.ask(cluster.launcher.ended(f"{grown.number}.2"))
    with pytest.raises(BadInput, match="attempt 2 of job 1 has processes 0 to 5"):
        log_place(state, grown.number, 0, 7)


def test_a_job_of_one_process_names_it(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    with pytest.raises(BadInput, match="attempt 1 of job 1 has one process, 0"):
        log_place(cluster.master.state, job, 0, 1)


def test_an_attempt_that_a_job_has_not_had_is_refused(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    with pytest.raises(NotFound, match=r"has had 1 attempt$"):
        log_place(cluster.master.state, job, 2, 0)


def test_a_log_that_was_deleted_is_not_taken_for_an_empty_one(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """By hand, and with its folder by retention."""
    job = cluster.submit()
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    cluster.ask(cluster.launcher.ended(f"{job}.1"))
    workplace, place = Workplace(tmp_path, {}), log_place(cluster.master.state, job, 0, 0)
    log = log_path(workplace, place)
    log.parent.mkdir(parents=True)
    log.touch()
    assert read_log(workplace, place, 0).data == b""
    for delete in (log.unlink, lambda: forget_files(tmp_path, {job})):
        delete()
        part = read_log(workplace, place, 0)
        assert (part.data, part.is_complete, part.is_note) == (GONE, True, True)


def test_an_attempt_that_never_ran_has_no_log_to_delete(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    job = cluster.submit()
    cluster.ask(AttemptEnded(f"{job}.1", (NOT_STARTED,), "", None))
    place = log_place(cluster.master.state, job, 1, 0)
    assert read_log(Workplace(tmp_path, {}), place, 0).data == b""


def test_of_a_gang_that_began_in_part_the_logs_of_those_that_started_are_gone(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    job = cluster.submit(processes=2)
    cluster.ask(AttemptEnded(f"{job}.1", (STARTED, NOT_STARTED), "", None))
    places = [log_place(cluster.master.state, job, 1, rank) for rank in range(2)]
    workplace = Workplace(tmp_path, {})
    assert [read_log(workplace, each, 0).data for each in places] == [GONE, b""]


def test_a_process_that_has_not_ended_has_no_log_that_is_gone(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """Its folder may not be visible yet; who follows its log would be told so with every look."""
    job = cluster.submit()
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    part = read_log(Workplace(tmp_path, {}), log_place(cluster.master.state, job, 0, 0), 0)
    assert (part.data, part.is_note, part.is_complete) == (b"", False, False)
