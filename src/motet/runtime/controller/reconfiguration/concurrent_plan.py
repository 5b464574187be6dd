"""Runs the operations of one plan, independent ones at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Plan
from motet.runtime.controller.reconfiguration.operations import CannotLaunch
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration

_AT_ONCE = 8


def run_plan(
    wanted: Reconfiguration,
    plan: Plan,
    operate: Callable[[Plan, int], None],
    is_closing: Callable[[], bool],
) -> None:
    """Run operations as soon as those that they wait for are done.

    After an error or a cancellation no operation begins, and those that run are completed. Of
    several errors one that loses the generation is raised rather than BadInput or CannotLaunch.
    """
    waiting = [i for i in range(len(plan.operations)) if i not in wanted.finished]
    running: dict[Future[None], int] = {}
    failures: list[BaseException] = []
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="motet-operation") as pool:
        while True:
            if not (failures or wanted.is_cancelled or is_closing()):
                ready = [i for i in waiting if wanted.finished.issuperset(plan.after[i])]
                waiting = [i for i in waiting if i not in ready]
                running |= {pool.submit(operate, plan, i): i for i in ready}
            if not running:
                break
            failures += _collected(running, wanted.finished)
    if failures:
        raise min(failures, key=lambda error: isinstance(error, BadInput | CannotLaunch))


def _collected(running: dict[Future[None], int], finished: set[int]) -> list[BaseException]:
    """Wait for an operation and note those that are done; the errors of the others."""
    failures: list[BaseException] = []
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        number = running.pop(future)
        error = future.exception()
        if error is None:
            finished.add(number)
        else:
            failures.append(error)
    return failures
