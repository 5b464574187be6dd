"""`motet.Client` and machines, queues, the policy, forecasts and history, on a real server."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import motet
from live_server import LiveServer, running_server
from motet.domain.errors import AuthenticationFailed, BadInput, NotFound
from motet.runtime.arbiter.holding_log import Holding, HoldingLog
from motet.runtime.core.subtask import SubtaskKind
from waiting import wait_until
from webhook_receiver import Receiver

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "2x2") as found:
        yield found


@pytest.fixture
def cluster(server: LiveServer) -> Iterator[motet.Client]:
    with motet.Client(state_dir=server.folder) as found:
        yield found
        if (found.jobs()["state"] != "CANCELLED").any():
            found.cancel_all(states=["PENDING", "STARTING", "RUNNING", "PREEMPTED", "SUSPENDED"])


def test_a_machine_is_drained_now_or_later_and_resumed(cluster: motet.Client) -> None:
    drained = cluster.drain_machine("m1", "new disk")
    assert (drained.state, drained.drain_reason, drained.slots) == ("DRAINED", "new disk", 2)
    assert cluster.resume_machine("m1").drain_from is None
    before = datetime.now(UTC)
    later = cluster.drain_machine("m1", "move", at=timedelta(hours=2))
    assert later.state == "UP"
    assert later.drain_from is not None
    assert timedelta(hours=2) <= later.drain_from - before < timedelta(hours=2, minutes=5)
    row = cluster.machines().loc["m1"]
    assert (row["drain_reason"], row["drain_from"]) == ("move", later.drain_from)
    assert cluster.resume_machine("m1").state == "UP"
    with pytest.raises(NotFound, match="unknown machine 'm7'"):
        cluster.drain_machine("m7", "x")
    with pytest.raises(BadInput, match="at='soon': give a time as 18:30"):
        cluster.drain_machine("m1", "x", at="soon")


def test_the_subtasks_of_jobs_that_share_a_machine_are_rows(
    cluster: motet.Client, server: LiveServer
) -> None:
    assert cluster.machine_subtasks("m0").empty
    (server.folder / "arbiters").mkdir()
    log = HoldingLog(server.folder / "arbiters" / "m0")
    log.add(Holding(1_000_000, 1_600_000, SubtaskKind.COMP, "1"))
    found = cluster.machine_subtasks("m0", seconds=0.5)
    start, end = (datetime.fromtimestamp(at_s, UTC) for at_s in (1.1, 1.6))
    assert found.to_dict("records") == [{"job": "1", "kind": "comp", "start": start, "end": end}]
    with pytest.raises(NotFound, match="unknown machine 'm7'"):
        cluster.machine_subtasks("m7")


def test_a_queue_is_created_limited_held_drained_and_deleted(cluster: motet.Client) -> None:
    made = cluster.create_queue("vision", guarantee=2, borrow=1)
    assert (made.guarantee, made.borrow, made.lend, made.mode) == (2, 1, None, "open")
    changed = cluster.limit_queue("vision", borrow=math.inf, lend=1)
    assert (changed.guarantee, changed.borrow, changed.lend) == (2, None, 1)
    assert cluster.hold_queue("vision").mode == "held"
    assert cluster.drain_queue("vision").mode == "draining"
    assert cluster.resume_queue("vision").mode == "open"
    assert cluster.queues().loc["vision", "guarantee"] == 2
    cluster.delete_queue("vision")
    with pytest.raises(NotFound, match="unknown queue 'vision'"):
        cluster.queue("vision")
    with pytest.raises(BadInput, match="give guarantee, borrow or lend"):
        cluster.limit_queue("default")
    with pytest.raises(BadInput, match=r"lend=-1: give a whole number of slots, or math\.inf"):
        cluster.limit_queue("default", lend=-1)


def test_the_policy_and_its_parameters_are_changed(cluster: motet.Client) -> None:
    chosen = cluster.set_policy("fifo", min_runtime=30, preemptions_per_hour=2)
    assert chosen.parameters["min_runtime"] == 30.0
    assert (chosen.name, chosen.failure) == ("fifo", None)
    assert cluster.policy() == chosen
    assert cluster.set_policy("fifo").parameters["min_runtime"] == 0.0
    with pytest.raises(BadInput, match="did you mean 'fifo'"):
        cluster.set_policy("fifi")


@pytest.mark.soak
def test_a_dry_run_submits_nothing_and_tells_the_start(cluster: motet.Client) -> None:
    before = len(cluster.jobs())
    running = cluster.submit(run="sleep 1000", processes=4, duration_s=1000)
    told = cluster.dry_run(run="sleep 60", processes=4, duration_s=60)
    assert (told.name, told.jobs, told.processes, told.policy) == ("sleep", 1, 4, "fifo")
    assert told.expected_start.median_s is not None
    assert told.expected_start.median_s > 1.0
    assert told.expected_start.unknown_because == ""
    assert told.delayed is not None
    assert told.delayed.empty
    assert len(cluster.jobs()) == before + 1
    last_in_line = cluster.dry_run(run="sleep 60")
    assert last_in_line.run_time_s is None
    assert last_in_line.delayed is not None
    assert last_in_line.delayed.empty
    cluster.set_policy("tiresias-las")
    try:
        unknown = cluster.dry_run(run="sleep 60")
    finally:
        cluster.set_policy("fifo")
    assert (unknown.run_time_s, unknown.delayed) == (None, None)
    assert "nothing is known" in unknown.delayed_unknown_because
    cluster.cancel(running)


def test_jobs_are_replayed_counted_and_exported(cluster: motet.Client, tmp_path: Path) -> None:
    cluster.wait(cluster.submit(run="true", name="first", duration_s=1), 60)
    replay = cluster.what_if("srtf", since="1d")
    assert list(replay.runs["kind"]) == ["measured", "simulated", "simulated"]
    assert list(replay.runs["policy"]) == ["fifo", "fifo", "srtf"]
    assert replay.jobs["jct_s"].notna().any()
    assert replay.since < replay.until
    assert any("srtf is told the run times" in note for note in replay.notes)
    usage = cluster.usage(by=["queue"], since=timedelta(days=1))
    assert list(usage["queue"]) == ["default"]
    assert usage["started"].sum() >= 1
    records = cluster.accounting()
    assert "COMPLETED" in set(records["State"])
    assert str(records["Start"].dt.tz) == "UTC"
    cluster.export(tmp_path / "jobs.txt")
    replayed = motet.simulate(tmp_path / "jobs.txt", cluster="1x4", policy="fifo")
    assert len(replayed.jobs) >= 1


def test_waits_are_explained_with_an_expected_start(cluster: motet.Client) -> None:
    blocker = cluster.submit(run="sleep 1000", processes=4, duration_s=1000)
    waiting = cluster.submit(run="true", duration_s=1)
    told = cluster.explain(waiting)
    assert told.reason == "InsufficientSlots"
    assert told.advice
    assert told.ran_s == 0.0
    coverage = cluster.prediction_coverage()
    assert coverage is None or 0 <= coverage.inside <= coverage.known <= coverage.waits
    cluster.cancel(waiting)
    cluster.cancel(blocker)
    assert cluster.explain(waiting).waited_s["too_few_gpus"] > 0.0


def test_events_tell_every_job_that_changes(cluster: motet.Client) -> None:
    events = cluster.events(queue="default")
    job = cluster.submit(run="true", name="told")
    seen = next(each for each in events if each.id == job.id and each.has_ended)
    assert (seen.state, seen.name) == ("SUCCEEDED", "told")
    events.close()  # type: ignore[attr-defined]


def test_jobs_are_cancelled_by_what_they_have_in_common(cluster: motet.Client) -> None:
    cluster.create_queue("bulk")
    first = cluster.submit(run="sleep 1000", queue="bulk")
    array = cluster.submit(run="sleep 1000", queue="bulk", array="0-1")
    other = cluster.submit(run="sleep 1000")
    cancelled = cluster.cancel_all(queue="bulk")
    assert [job.state for job in cancelled] == ["CANCELLED"] * 3
    assert cancelled[0].id == first.id
    assert {job.array for job in cancelled[1:]} == {array.id}
    assert not cluster.job(other).has_ended
    assert cluster.cancel_all(queue="bulk") == []
    with pytest.raises(BadInput, match="give queue, user or states"):
        cluster.cancel_all()
    with pytest.raises(BadInput, match="states: 'FAILED': give states of PENDING"):
        cluster.cancel_all(states=["FAILED"])
    with pytest.raises(BadInput, match="user 'nobody' has submitted no jobs"):
        cluster.cancel_all(user="nobody")


def test_jobs_are_listed_by_queue_user_and_end(cluster: motet.Client) -> None:
    cluster.create_queue("listed")
    job = cluster.submit(run="true", queue="listed")
    cluster.wait(job, 60)
    assert list(cluster.jobs(queue="listed").index) == [job.id]
    assert job.id in cluster.jobs(user=job.user, ended_since="1h").index
    assert job.id not in cluster.jobs(ended_since=timedelta(0)).index
    assert cluster.job(job).spec is not None


def audited(cluster: motet.Client) -> set[tuple[str, int]]:
    """Action and status of the last requests; a request is recorded after its answer."""
    found = cluster.audit(limit=5)
    return {*zip(found["action"], found["status"], strict=True)}


def test_users_get_tokens_that_are_shown_once(cluster: motet.Client) -> None:
    cluster.create_user("ann")
    usual, endless = cluster.create_token("ann"), cluster.create_token("ann", days=None)
    expiry = cluster.tokens()["expires_at"]
    assert expiry.notna()[usual.id]
    assert expiry.isna()[endless.id]
    token = cluster.create_token("ann", label="laptop", days=90)
    assert token.text not in repr(token)
    assert cluster.users().loc["ann", "role"] == "user"
    assert cluster.tokens().loc[token.id, "label"] == "laptop"
    with motet.Client(cluster.url, token.text) as ann:
        assert ann.jobs(user="ann").empty
        cluster.revoke_token(token.id)
        with pytest.raises(AuthenticationFailed):
            ann.jobs()
    cluster.revoke_user("ann")
    assert cluster.users()["revoked_at"].notna()["ann"]
    wait_until(lambda: ("DELETE /api/v1/users/ann", 200) in audited(cluster))
    assert "motet_jobs" in cluster.metrics()


def test_a_webhook_is_added_tested_and_removed(cluster: motet.Client) -> None:
    with closing(Receiver()) as receiver:
        hook = cluster.add_webhook(receiver.url, ["job.ended"])
        assert hook.secret not in repr(hook)
        assert cluster.test_webhook(hook.id) is None
        assert list(cluster.webhooks().index) == [hook.id]
    cluster.remove_webhook(hook.id)
    assert cluster.webhooks().empty
