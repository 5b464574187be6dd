"""Which starts and stops are not done when a replayed period begins, and when they are."""

from __future__ import annotations

from pathlib import Path

from motet.interfaces.forecasts.remaining_work import MeasuredRuns
from motet.interfaces.forecasts.replay.attempts_in_progress import AttemptsInProgress
from motet.live.master.intake import Change
from scripted_cluster import ScriptedCluster


def test_starts_are_done_when_processes_run_and_stops_when_slots_are_free(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path)
    starting, stopping, running = (cluster.submit() for _ in range(3))
    for number in (stopping, running):
        cluster.ask(cluster.launcher.started(f"{number}.1"))
    cluster.ask(Change(stopping, "suspend", "ann"))
    state = cluster.master.state
    found = AttemptsInProgress.of(state)
    assert (found.starting, found.stopping) == ({starting: 0}, {stopping: 0})

    cluster.ask(cluster.launcher.started(f"{starting}.1"))
    runs_us = state.jobs[starting].attempts[0].running_us
    still = MeasuredRuns.of(state.jobs.values(), cluster.now_us)
    assert found.done_us(state.jobs, still) == {starting: runs_us, stopping: cluster.now_us}

    cluster.ask(cluster.launcher.ended(f"{stopping}.1", None, "stopped"))
    freed_us = state.jobs[stopping].attempts[0].freed_us
    assert freed_us == cluster.now_us
    later = MeasuredRuns.of(state.jobs.values(), cluster.now_us + 1)
    assert found.done_us(state.jobs, later) == {starting: runs_us, stopping: freed_us}
    cluster.close()
