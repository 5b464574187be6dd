"""A job's data and model on executors: distributed at the start, read back at the end of epochs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from motet.domain.arrays import Array
from motet.runtime.client.table_client import TableClient
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint, merged_state
from motet.runtime.controller.generation.messenger import Messenger
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import dealt_blocks
from motet.runtime.wire.control_messages import FROM_THE_START, InstanceState, LoadRows, ReadState
from motet.runtime.wire.exchange import answer_of
from motet.runtime.wire.ownership import Ownership
from motet.transport import Call

_BLOCKS_IN_FLIGHT = 16
"""Data blocks that are sent and not answered: enough to keep a link busy, a sixth of the data."""


class Loader:
    """Distributes and reads one generation's tables."""

    def __init__(
        self, generation: int, plan: JobPlan, messenger: Messenger, client: TableClient
    ) -> None:
        self._generation = generation
        self._plan = plan
        self._messenger = messenger
        self._client = client

    def distribute(self, rows: Rows, start: Checkpoint, data: Ownership) -> None:
        """Send data blocks, with the checkpoint's state, and the model to their owners."""
        by_id = start.state.seen_by_id().columns
        current = rows.seen_by_id().with_columns(by_id)
        sent = deque[Call]()
        for block, part in dealt_blocks(current, self._plan.schedule):
            if len(sent) == _BLOCKS_IN_FLIGHT:
                sent.popleft().wait()
            load = LoadRows(self._generation, block, FROM_THE_START, part)
            sent.append(self._messenger.ask(int(data.owners[block]), load))
        for call in sent:
            call.wait()
        self._client.multi_put(None, start.model)

    def read_model(self, clock: int) -> Array:
        """The whole model before the mini-batch `clock` (under SSP and async: as it is).

        It lies in memory that is shared with the servers: a copy would double it.
        """
        if not self._plan.sync.consistency.is_lockstep:
            return self._client.multi_get()
        return self._client.read(self._client.batch_plan(None), clock, None)[0]

    def read_state(self, workers: Iterable[int]) -> Rows:
        """The state columns of all workers' instances, ordered by id."""
        request = ReadState(self._generation)
        parts = [
            answer_of(self._messenger.ask(number, request), InstanceState).rows
            for number in workers
        ]
        return merged_state([part for part in parts if len(part)])
