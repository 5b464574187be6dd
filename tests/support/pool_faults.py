"""What happens to the processes of a pool while jobs train on it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from motet.aggregation.control.pool_client import PoolClient
from motet.aggregation.master.processes.pool import LocalPool
from motet.aggregation.wire.pool_views import PoolView
from waiting import wait_until

Fault = Callable[[LocalPool], None]


def view(pool: LocalPool) -> PoolView:
    with PoolClient.find(pool.folder.address) as client:
        return client.describe()


def is_safe(pool: LocalPool) -> bool:
    """Whether each tensor has a replica, and every job is where the plan has it."""
    found = view(pool)
    return (
        bool(found.jobs)
        and all(job.phase == "placed" and len(job.aggregators) == 1 for job in found.jobs)
        and sum(each.replicas for each in found.aggregators)
        == sum(job.tensors for job in found.jobs)
    )


def process_with_tensors(pool: LocalPool, has_tensors: bool) -> int:
    chosen = next(each for each in view(pool).aggregators if bool(each.tensors) == has_tensors)
    return pool.aggregator_ids()[chosen.number]


def kill_home(pool: LocalPool) -> None:
    os.kill(process_with_tensors(pool, True), signal.SIGKILL)


def kill_replica(pool: LocalPool) -> None:
    os.kill(process_with_tensors(pool, False), signal.SIGKILL)


def kill_both(pool: LocalPool) -> None:
    for process in [process_with_tensors(pool, has_tensors) for has_tensors in (True, False)]:
        os.kill(process, signal.SIGKILL)


def kill_pmaster(pool: LocalPool) -> None:
    _kill_until_another_pmaster(pool, pool.master_id)


def kill_pmaster_and_home(pool: LocalPool) -> None:
    _kill_until_another_pmaster(pool, pool.master_id, process_with_tensors(pool, True))


def kill_pmaster_and_replica(pool: LocalPool) -> None:
    """The Aggregator with the tensors waits for the next pMaster, which it tells."""
    _kill_until_another_pmaster(pool, process_with_tensors(pool, False), pool.master_id)


def _kill_until_another_pmaster(pool: LocalPool, *processes: int) -> None:
    """Kill processes, in this order, of which one is pMaster."""
    first = pool.master_id
    for process in processes:
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: pool.master_id != first)


def stop_home(pool: LocalPool) -> None:
    """It neither answers nor ends: pMaster has to end it."""
    _stop(pool, process_with_tensors(pool, True))


def stop_replica(pool: LocalPool) -> None:
    _stop(pool, process_with_tensors(pool, False))


def drain_home(pool: LocalPool) -> None:
    home = next(each.number for each in view(pool).aggregators if each.tensors)
    with PoolClient.find(pool.folder.address) as client:
        assert list(client.drain([home])) == [home]


def _stop(pool: LocalPool, process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    wait_until(lambda: process not in pool.aggregator_ids().values())
