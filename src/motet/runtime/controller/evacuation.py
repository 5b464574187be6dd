"""Moves a job away from machines that will be taken away, while they are still there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from motet.runtime.controller.reconfiguration.plan_queue import PlanMaker
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.replacement import evacuation_plan, usable_machines


def must_evacuate(layout: JobLayout, machines: Sequence[Machine]) -> bool:
    """Whether an executor's machine is leaving and another machine is up."""
    is_leaving = any(machines[executor].condition == "leaving" for executor in layout.executors)
    return is_leaving and bool(usable_machines(machines))


class Evacuation:
    """Requests a plan when machines have changed and executors must leave some of them."""

    def __init__(
        self,
        layout: Callable[[], JobLayout],
        machines: Callable[[], Sequence[Machine]],
        request: Callable[[PlanMaker], object],
    ) -> None:
        """`layout` and `machines` return the present ones; `request` queues an urgent plan."""
        self._layout = layout
        self._machines = machines
        self._request = request

    def machines_changed(self, machines: Sequence[Machine]) -> None:
        """The plan is made when it begins, for the machines of that moment."""
        if must_evacuate(self._layout(), machines):
            self._request(lambda layout: evacuation_plan(layout, self._machines()))
