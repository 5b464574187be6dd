"""Operations on the executors of one generation, while they train.

An operation brings the layout to what it says: repeated after it was cut off, it does what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from motet.domain.errors import BadInput, JobFailed
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Role, Switch
from motet.runtime.controller.generation.generation import Generation
from motet.runtime.controller.ports import ClusterLost, ExecutorHandle, ExecutorLost
from motet.runtime.controller.reconfiguration.cost import Cost, total_cost
from motet.runtime.controller.reconfiguration.model_moves import ModelMoves
from motet.runtime.controller.reconfiguration.shared_layout import SharedLayout
from motet.runtime.controller.reconfiguration.work_changes import WorkChanges
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import require_another


class CannotLaunch(Exception):
    """An executor could not be started; nothing has changed."""


class Operations:
    """May be used from several threads: operations on different executors run at once."""

    def __init__(
        self,
        generation: Generation,
        layout: JobLayout,
        launch: Callable[[int], ExecutorHandle],
        retire: Callable[[ExecutorHandle], None],
    ) -> None:
        """`launch` starts an executor, `retire` ends its process."""
        self._generation = generation
        self._layout = SharedLayout(layout)
        self._launch = launch
        self._retire = retire
        self._work = WorkChanges(generation, self._layout)
        self._model = ModelMoves(generation, self._layout)
        self._kinds: Mapping[type[Operation], Callable[[Any], Cost]] = {
            Add: self._add,
            Delete: self._delete,
            Switch: self._switch,
            Move: self._move,
        }

    @property
    def layout(self) -> JobLayout:
        """The present layout."""
        return self._layout.now

    def carry_out(self, operation: Operation) -> Cost:
        """Do one operation; returns when it is done everywhere.

        Raises BadInput or CannotLaunch; anything else means that the generation is lost.
        """
        return self._kinds[type(operation)](operation)

    def pause(self) -> None:
        """Have all workers stop at the next mini-batch, for good; each reports that it has."""
        self._work.pause()

    def _add(self, operation: Add) -> Cost:
        return self._take_on(operation.executor, operation.role)

    def _delete(self, operation: Delete) -> Cost:
        roles = self.layout.roles_of(operation.executor)
        given_up = [role for role in roles if operation.role in (None, role)]
        return self._give_up(operation.executor, given_up)

    def _switch(self, operation: Switch) -> Cost:
        taken = self._take_on(operation.executor, operation.role)
        roles = self.layout.roles_of(operation.executor)
        others = [role for role in roles if role != operation.role]
        return total_cost([taken, self._give_up(operation.executor, others)])

    def _move(self, operation: Move) -> Cost:
        owners = self.layout.owners(operation.table).owners
        blocks = [block for block in operation.blocks if int(owners[block]) == operation.source]
        if not blocks:
            return Cost()
        if operation.table == "model":
            return self._model.move(blocks, operation.source, operation.destination)
        return self._work.change(lambda now: _with_data_at(operation.destination, blocks, now))

    # -- roles -----------------------------------------------------------------------------------

    def _take_on(self, executor: int, role: Role) -> Cost:
        if executor not in self._generation.members.numbers:
            self._start(executor)
        if executor in self.layout.holders(role):
            return Cost()
        if role == "worker":
            return self._work.change(lambda now: now.with_role(executor, "worker"))
        self._layout.edit(lambda now: now.with_role(executor, "server"))
        return Cost()

    def _start(self, executor: int) -> None:
        try:
            handle = self._launch(executor)
        except ClusterLost:
            raise
        except (JobFailed, ExecutorLost) as error:
            raise CannotLaunch(f"executor {executor} did not start: {error}") from error
        try:
            self._generation.admit(handle, self.layout.model)
        except ExecutorLost as error:
            self._retire(handle)
            raise CannotLaunch(f"executor {executor} did not stay: {error}") from error
        # Blocks may have moved since it got its assignment.
        self._generation.teach(self.layout.model)

    def _give_up(self, executor: int, roles: Iterable[Role]) -> Cost:
        return total_cost([self._give_up_one(executor, role) for role in roles])

    def _give_up_one(self, executor: int, role: Role) -> Cost:
        if role == "worker":
            cost = self._work.change(lambda now: _without_worker(executor, now))
        else:
            cost = self._model.empty(executor)
        if not self.layout.roles_of(executor):
            self._end(executor)
        return cost

    def _end(self, executor: int) -> None:
        # Once all workers have begun another mini-batch, none uses an older table of owners.
        self._work.change(lambda now: now)
        self._retire(self._generation.dismiss(executor))


def _without_worker(executor: int, now: JobLayout) -> JobLayout:
    # A plan that a recovery cut off may meet a layout without executors that it counted on.
    require_another(now, executor, "worker")
    return now.without_role(executor, "worker")


def _with_data_at(destination: int, blocks: Sequence[int], now: JobLayout) -> JobLayout:
    if destination not in now.workers:
        raise BadInput(f"executor {destination} is no worker any more")
    return now.moved("data", blocks, destination)
