"""An end to the archives of snapshots whose jobs are long over."""

from __future__ import annotations

from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState
from motet.live.upkeep.old_jobs import DAY_US
from motet.live.workdirs.store import SnapshotStore


def forget_snapshots(
    master: MasterLoop, store: SnapshotStore, keep_days: int | None, now_us: int
) -> None:
    """Delete the archives that nobody has asked for since `keep_days`, and no job that is open or
    ended later has. None: keep all. Raises MasterStopped.
    """
    if keep_days is None:
        return
    before_us = now_us - keep_days * DAY_US
    if old := store.unused_since(before_us / 1_000_000):
        store.forget(old - master.read(lambda state: _needed(state, before_us)).result())


def _needed(state: LiveState, before_us: int) -> set[str]:
    jobs = state.jobs.values()
    return {job.spec.digest for job in jobs if job.ended_us is None or job.ended_us >= before_us}
