"""The master with a launcher that a test scripts, and a real journal."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import moving_policy
from example_count import examples
from motet.domain.errors import BadInput, NotFound
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.journal.store import JournalStore
from motet.live.launcher.leftovers import MARK
from motet.live.launcher.messages import AttemptEnded, AttemptRunning, RankExit
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.master.job_updates import UpdateJob
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.repeated_request import KeyReused
from motet.live.master.submissions.submission import Submit, SubmitArray
from motet.live.queues.queue_changes import CreateQueue
from scripted_cluster import CLUSTER, SECOND_US, ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def test_a_job_runs_from_submission_to_success(cluster: ScriptedCluster) -> None:
    job = cluster.submit(processes=3)
    assert cluster.job(job).state is JobState.STARTING
    ranks = cluster.launcher.running["1.1"].ranks
    assert [task.machine for task in ranks] == ["m0", "m0", "m1"]
    assert [task.env["LOCAL_RANK"] for task in ranks] == ["0", "1", "0"]
    assert {task.env["WORLD_SIZE"] for task in ranks} == {"3"}
    # Other servers have attempts with the same number.
    assert {task.env[MARK] for task in ranks} == {cluster.launcher.running["1.1"].folder}
    cluster.ask(cluster.launcher.started("1.1"))
    assert cluster.job(job).state is JobState.RUNNING
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(job).state is JobState.SUCCEEDED


def test_a_job_waits_while_its_slots_are_taken(cluster: ScriptedCluster) -> None:
    first, second = cluster.submit(processes=3), cluster.submit(processes=2)
    assert cluster.job(second).state is JobState.PENDING
    cluster.ask(cluster.launcher.ended("1.1"))
    assert cluster.job(first).state is JobState.SUCCEEDED
    assert cluster.job(second).state is JobState.STARTING


def test_slots_of_a_cancelled_job_are_free_when_its_processes_have_ended(
    cluster: ScriptedCluster,
) -> None:
    job, waits = cluster.submit(processes=4), cluster.submit()
    cluster.ask(Change(job, "cancel", "ann"))
    assert cluster.job(job).state is JobState.CANCELLED
    assert cluster.launcher.stopping == {"1.1"}
    assert cluster.job(waits).state is JobState.PENDING
    cluster.ask(cluster.launcher.ended("1.1", None, "stopped"))
    assert cluster.job(waits).state is JobState.STARTING


def test_a_failed_command_is_run_again_as_often_as_its_user_wants(cluster: ScriptedCluster) -> None:
    job = cluster.submit(retry={"max_attempts": 2})
    cluster.ask(cluster.launcher.ended("1.1", 1))
    assert cluster.job(job).state is JobState.STARTING
    cluster.ask(cluster.launcher.ended("1.2", 1))
    assert cluster.job(job).state is JobState.FAILED
    assert cluster.job(job).reason == "the process exited with status 1"


def test_lost_processes_use_up_no_retries(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    for number in range(1, 6):
        cluster.ask(cluster.launcher.ended(f"1.{number}", None, "lost"))
        cluster.until_started(job)
    assert cluster.job(job).state is JobState.STARTING
    cluster.ask(cluster.launcher.ended("1.6"))
    assert cluster.job(job).state is JobState.SUCCEEDED


def test_a_suspended_job_gives_its_slots_away_and_comes_back(cluster: ScriptedCluster) -> None:
    job, waits = cluster.submit(processes=4), cluster.submit(processes=4)
    cluster.ask(Change(job, "suspend", "ann"))
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    assert (cluster.job(job).state, cluster.job(waits).state) == ("SUSPENDED", "STARTING")
    cluster.ask(Change(job, "resume", "ann"))
    assert cluster.job(job).state is JobState.PENDING
    cluster.ask(cluster.launcher.ended("2.1"))
    assert cluster.job(job).attempts[-1].number == 2
    cluster.ask(cluster.launcher.ended("1.2"))
    assert cluster.job(job).state is JobState.SUCCEEDED


def test_a_preempted_job_continues_and_exit_status_0_after_the_signal_is_no_success(
    tmp_path: Path,
) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"thresholds": "10"}))
    long = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.now_us += 60 * SECOND_US
    short = cluster.submit(processes=4)
    assert cluster.launcher.stopping == {"1.1"}
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    assert (cluster.job(long).state, cluster.job(short).state) == ("PREEMPTED", "STARTING")
    cluster.ask(cluster.launcher.ended("2.1"))
    assert cluster.job(long).state is JobState.STARTING
    cluster.close()


def test_a_request_with_the_same_key_submits_one_job(cluster: ScriptedCluster) -> None:
    assert cluster.submit(key="a") == cluster.submit(key="a") == 1
    cluster.begin()
    assert cluster.submit(key="a") == 1
    assert cluster.submit(key="b") == 2
    cluster.ask(UpdateJob(1, "ann", priority=3))
    assert cluster.submit(key="a") == 1
    with pytest.raises(KeyReused, match="the key 'a' belongs to job 1"):
        cluster.submit(key="a", processes=2)
    spec = array_spec({"name": "job", "run": "true", "workdir": "/", "array": "0-1"})
    with pytest.raises(KeyReused, match="the key 'a' belongs to job 1"):
        cluster.ask(SubmitArray(spec, "ann", "a"))


def test_a_report_that_comes_twice_counts_once(cluster: ScriptedCluster) -> None:
    cluster.submit()
    running, over = cluster.launcher.started("1.1"), cluster.launcher.ended("1.1", 1)
    cluster.handle(running, over, over, running)
    assert [attempt.outcome for attempt in cluster.job(1).attempts] == ["failed"]


def test_requests_that_cannot_be_met_are_refused_and_leave_no_record(
    cluster: ScriptedCluster,
) -> None:
    with pytest.raises(BadInput, match="processes: 5, but the cluster has 4 slots"):
        cluster.submit(processes=5)
    with pytest.raises(NotFound, match="no job 7"):
        cluster.ask(Change(7, "cancel", "ann"))
    with pytest.raises(BadInput, match="unknown policy"):
        cluster.ask(ChoosePolicy("fifoo"))
    assert cluster.store is not None
    sequence = cluster.store.next_sequence
    cluster.submit()
    assert cluster.store.next_sequence == sequence + 1


def test_a_refused_request_does_not_touch_the_others_of_its_step(cluster: ScriptedCluster) -> None:
    good = Submit(job_spec({"name": "a", "run": "true", "workdir": "/"}), "ann")
    large = replace(good, spec=good.spec.model_copy(update={"processes": 99}))
    replies = cluster.handle(good, large, good)
    assert [reply.value for reply in replies] == [1, None, 2]
    assert isinstance(replies[1].error, BadInput)


def test_a_clock_that_is_set_back_does_not_turn_time_back(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    cluster.now_us -= 3600 * SECOND_US
    cluster.ask(cluster.launcher.ended("1.1"))
    submitted_us, ended_us = cluster.job(job).submitted_us, cluster.job(job).ended_us
    assert ended_us is not None
    assert ended_us >= submitted_us
    cluster.begin()
    assert cluster.job(job).ended_us == ended_us


def test_a_moved_job_runs_on_its_new_machines_after_it_has_left_the_old_ones(
    tmp_path: Path,
) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy(str(Path(moving_policy.__file__))))
    begin_us = (cluster.now_us // (14 * SECOND_US) + 1) * 14 * SECOND_US
    cluster.now_us = begin_us
    job = cluster.submit()
    (first,) = cluster.launcher.running["1.1"].ranks
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.now_us = begin_us + 3 * SECOND_US
    cluster.submit()
    assert cluster.launcher.stopping == {"1.1"}
    assert cluster.job(job).state is JobState.RUNNING
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    (second,) = cluster.launcher.running["1.2"].ranks
    assert second.machine != first.machine
    assert cluster.job(job).state is JobState.STARTING
    cluster.close()


def test_a_journal_of_another_cluster_is_refused(cluster: ScriptedCluster, tmp_path: Path) -> None:
    cluster.close()
    with (
        JournalStore(str(tmp_path / "journal.db")) as store,
        pytest.raises(
            BadInput, match=r"m0 \(2 slots\), m1 \(2 slots\), not .* m0 .* --cluster 2x2,"
        ),
    ):
        Master(store, ClusterDeclared(("m0",), (8,)), Workplace(tmp_path, {}), lambda: 0)


@pytest.mark.parametrize("decision", [None, "null"])
def test_actions_that_this_version_would_not_take_have_happened(
    cluster: ScriptedCluster, decision: str | None
) -> None:
    job = cluster.submit()
    cluster.ask(cluster.launcher.started("1.1"))
    assert cluster.store is not None
    last = [*cluster.store.records()][-1]
    altered = replace(last, sequence=last.sequence + 1, actions='[["Preempt",1]]', facts="[]")
    cluster.store.append([replace(altered, events="[]", decision=decision)])
    cluster.begin()
    assert cluster.launcher.stopping == {"1.1"}
    if decision is None:
        assert str(cluster.master.divergence).startswith(f"record {altered.sequence} of the")
    cluster.ask(cluster.launcher.ended("1.1", None, "stopped"))
    cluster.until_started(job)


POLICIES = (
    ChoosePolicy("tiresias-las", {"thresholds": "20"}),
    ChoosePolicy(str(Path(moving_policy.__file__))),
    ChoosePolicy("srtf", {"min_runtime": "20"}),
    ChoosePolicy("tiresias-las", {"thresholds": "20", "quantum_s": "3"}),
)


class KilledMasters(RuleBasedStateMachine):
    """Users and processes in any order; the master is killed at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())

    @initialize(policy=st.sampled_from(POLICIES))
    def begin(self, policy: ChoosePolicy) -> None:
        self.cluster = ScriptedCluster(self.folder, policy)

    def teardown(self) -> None:
        self._finish()
        self.cluster.close()
        shutil.rmtree(self.folder)

    @rule(processes=st.integers(1, 4), attempts=st.integers(1, 2), duration_s=st.integers(1, 99))
    def submit(self, processes: int, attempts: int, duration_s: int) -> None:
        more = {"retry": {"max_attempts": attempts}, "duration_s": duration_s}
        self.cluster.submit(processes, **more)

    @precondition(lambda self: self.cluster.master.state.jobs)
    @rule(data=st.data(), more=st.integers(1, 3))
    def submit_after(self, data: st.DataObject, more: int) -> None:
        known = st.sampled_from(sorted(self.cluster.master.state.jobs))
        after = data.draw(st.lists(known, min_size=1, max_size=more))
        values = {"name": "job", "run": "true", "workdir": "/", "duration_s": 5, "after": after}
        self.cluster.handle(Submit(job_spec(values), "ann"))

    @rule(jobs=st.integers(1, 5), most=st.integers(1, 3))
    def submit_array(self, jobs: int, most: int) -> None:
        values = {"name": "sweep", "run": "true", "workdir": "/", "duration_s": 5}
        spec = array_spec({**values, "array": f"1-{jobs}%{most}"})
        self.cluster.handle(SubmitArray(spec, "ann"))

    @rule(name=st.sampled_from(CLUSTER.names), in_s=st.none() | st.integers(-1, 9))
    def drain(self, name: str, in_s: int | None) -> None:
        from_us = None if in_s is None else self.cluster.now_us + in_s * SECOND_US
        self.cluster.handle(DrainMachine(name, "test", "ann", from_us))

    @rule(name=st.sampled_from(CLUSTER.names))
    def resume_machine(self, name: str) -> None:
        self.cluster.handle(ResumeMachine(name, "ann"))

    @rule(name=st.sampled_from(["ml", "vision"]))
    def create_queue(self, name: str) -> None:
        self.cluster.ask(CreateQueue(name, "ann"))

    @precondition(lambda self: self.cluster.master.state.jobs)
    @rule(data=st.data(), priority=st.none() | st.integers(-2, 2))
    def update(self, data: st.DataObject, priority: int | None) -> None:
        job = data.draw(st.sampled_from(sorted(self.cluster.master.state.jobs)))
        queue = data.draw(st.none() | st.sampled_from(["default", "ml", "vision"]))
        self.cluster.handle(UpdateJob(job, "ann", priority, queue))

    @rule(policy=st.sampled_from(POLICIES))
    def choose_policy(self, policy: ChoosePolicy) -> None:
        self.cluster.ask(policy)
        self.cluster.policy = policy

    @precondition(lambda self: self.cluster.master.state.jobs)
    @rule(data=st.data(), verb=st.sampled_from(["cancel", "suspend", "resume"]))
    def change(self, data: st.DataObject, verb: Any) -> None:
        job = data.draw(st.sampled_from(sorted(self.cluster.master.state.jobs)))
        self.cluster.handle(Change(job, verb, "ann"))

    @precondition(lambda self: self.cluster.launcher.running)
    @rule(data=st.data(), batch=st.integers(1, 3), is_killed=st.booleans())
    def report(self, data: st.DataObject, batch: int, is_killed: bool) -> None:
        """Several reports at once; if the master is killed before, they are repeated."""
        launcher, reports = self.cluster.launcher, []
        for _ in range(min(batch, len(launcher.running))):
            attempt = data.draw(st.sampled_from(sorted(launcher.running)))
            reports.append(self._report(data, attempt))
        if is_killed:
            self.cluster.begin()
        self.cluster.handle(*reports)

    def _report(self, data: st.DataObject, attempt: str) -> Any:
        launcher = self.cluster.launcher
        ends: list[tuple[int | None, Any]] = [(0, "exited"), (1, "exited"), (None, "lost")]
        if attempt in launcher.stopping:
            ends += [(0, "stopped"), (None, "stopped")]
        end = data.draw(st.sampled_from([None, *ends]))
        return launcher.started(attempt) if end is None else launcher.ended(attempt, *end)

    @rule(seconds=st.integers(1, 100))
    def wait(self, seconds: int) -> None:
        self.cluster.now_us += seconds * SECOND_US
        self.cluster.handle()

    @rule()
    def kill_master(self) -> None:
        before = _seen(self.cluster)
        self.cluster.replay()
        assert _seen(self.cluster) == before
        self.cluster.go_on()

    @invariant()
    def slots_are_not_oversubscribed(self) -> None:
        limits = dict(zip(CLUSTER.names, CLUSTER.slots, strict=True))
        for machine, used in self.cluster.launcher.machines_in_use().items():
            assert used <= limits[machine]

    @invariant()
    def no_job_has_two_attempts_at_once(self) -> None:
        jobs = [attempt.split(".")[0] for attempt in self.cluster.launcher.running]
        assert len(jobs) == len(set(jobs))

    @invariant()
    def jobs_run_only_after_those_that_they_wait_for(self) -> None:
        jobs = self.cluster.master.state.jobs
        for job in jobs.values():
            states = {jobs[each].state for each in job.spec.after}
            if job.attempts:
                assert states <= {JobState.SUCCEEDED}
            elif states & {JobState.FAILED, JobState.CANCELLED}:
                assert job.state is JobState.CANCELLED

    @invariant()
    def arrays_keep_their_limits(self) -> None:
        for array in self.cluster.master.state.arrays.values():
            unfinished = [job for job in array.jobs if not job.state.is_final]
            released = [job for job in unfinished if not job.is_held]
            assert array.most_open is not None
            assert len(released) == min(array.most_open, len(unfinished)) == array.open

    @invariant()
    def the_launcher_and_the_master_agree(self) -> None:
        expected = {
            f"{job.number}.{job.attempt.number}"
            for job in self.cluster.master.state.active.values()
            if job.attempt is not None
        }
        assert self.cluster.launcher.running.keys() == expected

    def _finish(self) -> None:
        """On machines that take jobs, every job that is not suspended reaches a final state."""
        launcher = self.cluster.launcher
        for name in CLUSTER.names:
            self.cluster.handle(ResumeMachine(name, "ann"))
        for _ in range(1000):
            jobs = self.cluster.master.state.jobs
            if all(_rests(job, jobs) for job in jobs.values()):
                return
            if not launcher.running:  # Restarts are delayed.
                self.cluster.handle()
                continue
            attempt = min(launcher.running)
            reason: Any = "stopped" if attempt in launcher.stopping else "exited"
            self.cluster.handle(launcher.ended(attempt, 0, reason))
        raise AssertionError("jobs wait for ever")


def _rests(job: LiveJob, jobs: Mapping[int, LiveJob]) -> bool:
    if job.is_held and job.array is not None:
        return any(each.is_suspended for each in job.array.jobs if not each.is_held)
    if job.is_held:
        waits_for = [jobs[each] for each in job.spec.after]
        return any(not each.state.is_final and _rests(each, jobs) for each in waits_for)
    return job.state.is_final or (job.state is JobState.SUSPENDED and job.attempt is None)


def _seen(cluster: ScriptedCluster) -> dict[int, tuple[Any, ...]]:
    return {
        number: (job.state, job.reason, [(a.phase, a.outcome, a.placement) for a in job.attempts])
        for number, job in cluster.master.state.jobs.items()
    }


TestKilledMasters: Callable[..., Any] = KilledMasters.TestCase
KilledMasters.TestCase.settings = settings(stateful_step_count=30, max_examples=examples(40))


def test_all_attempts_of_a_job_have_the_run_id_of_the_first(cluster: ScriptedCluster) -> None:
    cluster.submit(retry={"max_attempts": 2})
    cluster.submit(envs={"WANDB_RUN_ID": "mine", "WANDB_RESUME": "never"})
    first, own = (cluster.launcher.running[f"{job}.1"].ranks[0].env for job in (1, 2))
    cluster.ask(cluster.launcher.ended("1.1", 1))
    for _ in range(200):
        cluster.handle()
    again = cluster.launcher.running["1.2"].ranks[0].env
    assert first["MOTET_RUN_ID"] == again["MOTET_RUN_ID"] == again["WANDB_RUN_ID"]
    assert first["MOTET_RUN_ID"] != own["MOTET_RUN_ID"]
    assert (own["WANDB_RUN_ID"], own["WANDB_RESUME"]) == ("mine", "never")
    assert again["WANDB_RESUME"] == "allow"


def test_service_is_what_the_processes_ran_however_late_the_master_hears_of_it(
    cluster: ScriptedCluster,
) -> None:
    cluster.submit()
    begun_s = cluster.now_us / SECOND_US + 2.0
    running = AttemptRunning("1.1", begun_s)
    end = RankExit(0, None, "exited", begun_s, begun_s + 5.0)
    for _ in range(30):
        cluster.handle()  # The launcher is away.
    cluster.begin()
    cluster.handle(running, AttemptEnded("1.1", (end,)))
    assert cluster.job(1).state is JobState.SUCCEEDED
    cluster.replay()
    history = cluster.master._engine.state.history
    assert history.attained_gpu_us.tolist() == [5 * SECOND_US]
