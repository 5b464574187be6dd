"""A job's executors: started on machines that are up, ended when nobody needs them any more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from motet.domain.errors import Unreachable
from motet.runtime.controller.ports import (
    ExecutorCluster,
    ExecutorHandle,
    ExecutorLost,
    MachineGone,
    never,
)
from motet.runtime.core.application import Application
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.replacement import leavers, resettled


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
        """`say` is told what takes time."""
        self.handles: dict[int, ExecutorHandle] = {}
        self._cluster = cluster
        self._job = job
        self._secret = secret
        self._app = app
        self._say = say

    def reconcile(self, layout: Layout, is_given_up: Callable[[], bool] = never) -> Layout:
        """Have an executor wherever the layout wants one, and nowhere else.

        Where it wants one on a machine that is not up, others take over: the layout of those that
        are there then. Raises JobFailed, ExecutorLost or LaunchGivenUp.
        """
        while True:
            layout = self._on_machines_that_are_up(layout)
            for number in self.handles.keys() - set(layout.executors):
                self.retire(self.handles[number])
            missing = [number for number in layout.executors if number not in self.handles]
            if not missing:
                return layout
            self._say(f"starting {len(missing)} executor{'s' * (len(missing) != 1)}")
            with contextlib.suppress(MachineGone):  # in this moment: then on another one
                self._launch(missing, is_given_up)

    def launch_one(self, number: int, is_given_up: Callable[[], bool] = never) -> ExecutorHandle:
        """One more. Raises JobFailed, ExecutorLost or LaunchGivenUp."""
        self._launch([number], is_given_up)
        return self.handles[number]

    def retire(self, handle: ExecutorHandle) -> None:
        """One less."""
        self.handles.pop(handle.number).kill()

    def retire_the_dead(self) -> None:
        """Let go of who does not answer; the generation of the others ends."""
        for handle in list(self.handles.values()):
            if not _answers(handle):
                self.retire(handle)

    def close(self) -> None:
        """End all."""
        for handle in list(self.handles.values()):
            handle.kill()

    def _launch(self, numbers: list[int], is_given_up: Callable[[], bool]) -> None:
        self.handles |= self._cluster.launch(
            self._job, numbers, self._secret, self._app, is_given_up
        )

    def _on_machines_that_are_up(self, layout: Layout) -> Layout:
        machines = self._cluster.machines()
        lost = leavers(layout, machines)
        if not lost:
            return layout
        self._say(f"going on without {', '.join(machines[number].name for number in lost)}")
        return resettled(layout, machines)


def _answers(handle: ExecutorHandle) -> bool:
    try:
        handle.abort()
    except (ExecutorLost, Unreachable):
        return False
    return True
