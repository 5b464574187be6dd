"""A job's executors: started on machines that are up, ended when they have no role any more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from motet.domain.errors import Unreachable
from motet.runtime.controller.ports import (
    ExecutorCluster,
    ExecutorHandle,
    ExecutorLost,
    LaunchRequest,
    MachineGone,
    never,
)
from motet.runtime.core.application import Application
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.replacement import layout_on_up_machines, leaving_executors


@dataclass(frozen=True, eq=False)
class PoolChange:
    """What leads from the running executors to a layout's.

    `layout`: on machines that are up; `left`: machines that it had to leave; `surplus`: executors
    to end; `missing`: executors to start.
    """

    layout: JobLayout
    left: tuple[int, ...]
    surplus: tuple[int, ...]
    missing: tuple[int, ...]


def pool_change(
    layout: JobLayout, running: Collection[int], machines: Sequence[Machine]
) -> PoolChange:
    """What to end and to start. Raises JobFailed: no machine is left."""
    left = tuple(leaving_executors(layout, machines))
    if left:
        layout = layout_on_up_machines(layout, machines)
    surplus = sorted(set(running) - set(layout.executors))
    missing = [number for number in layout.executors if number not in running]
    return PoolChange(layout, left, tuple(surplus), tuple(missing))


class ExecutorPool:
    """`handles`: the living ones, by number."""

    def __init__(
        self,
        cluster: ExecutorCluster,
        job: str,
        secret: bytes,
        app: Application,
        say: Callable[[str], None],
    ) -> None:
        """`say(text)` is called before what takes time."""
        self.handles: dict[int, ExecutorHandle] = {}
        self._cluster = cluster
        self._job = job
        self._secret = secret
        self._app = app
        self._say = say
        self._has_launched = False

    def reconcile(self, layout: JobLayout, is_given_up: Callable[[], bool] = never) -> JobLayout:
        """Have the executors of a layout, and no others.

        For machines that are not up others take over: returns the layout with them. Raises
        JobFailed, ExecutorLost or LaunchGivenUp.
        """
        while True:
            machines = self._cluster.machines()
            change = pool_change(layout, self.handles, machines)
            if change.left:
                self._say(f"going on without {', '.join(machines[n].name for n in change.left)}")
            for number in change.surplus:
                self.retire(self.handles[number])
            layout = change.layout
            if not change.missing:
                return layout
            self._say(_start_text(len(change.missing), is_first=not self._has_launched))
            with contextlib.suppress(MachineGone):  # since the last look: then on another one
                self._launch(change.missing, is_given_up)

    def launch_one(self, number: int, is_given_up: Callable[[], bool] = never) -> ExecutorHandle:
        """Start one more. Raises JobFailed, ExecutorLost or LaunchGivenUp."""
        self._launch((number,), is_given_up)
        return self.handles[number]

    def retire(self, handle: ExecutorHandle) -> None:
        """End one."""
        self.handles.pop(handle.number).kill()

    def retire_unresponsive(self) -> None:
        """End the generation of all executors, and remove those that do not answer."""
        for handle in list(self.handles.values()):
            if not _answers(handle):
                self.retire(handle)

    def close(self) -> None:
        """End all."""
        for handle in list(self.handles.values()):
            handle.kill()

    def _launch(self, numbers: tuple[int, ...], is_given_up: Callable[[], bool]) -> None:
        request = LaunchRequest(self._job, numbers, self._secret, self._app, is_given_up)
        self.handles |= self._cluster.launch(request)
        self._has_launched = True


def _start_text(count: int, *, is_first: bool) -> str:
    text = f"starting {count} executor{'s' * (count != 1)}"
    return f"{text} (the first run on a machine compiles kernels)" if is_first else text


def _answers(handle: ExecutorHandle) -> bool:
    try:
        handle.abort()
    except (ExecutorLost, Unreachable):
        return False
    return True
