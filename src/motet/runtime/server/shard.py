"""An owner's part of one table: answers PULL, PUSH, UPDATE and PUT for the blocks that it owns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from motet.runtime.core.application import Step
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.accumulator import Contribution
from motet.runtime.server.block import Block, Departed, UpdateFunction
from motet.runtime.server.block_state import BlockState
from motet.runtime.server.block_values import MakePlace
from motet.runtime.server.contiguous_blocks import ContiguousBlocks
from motet.runtime.server.held_blocks import HeldBlocks, NamedBlocks
from motet.runtime.server.payloads import Payloads
from motet.runtime.server.pull_gate import PullGate
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import WAIT, PullHead, PushHead, Target
from motet.transport import Request


class Shard:
    """The blocks of one table at one executor."""

    def __init__(
        self,
        spec: TableSpec,
        update: UpdateFunction,
        sync: Synchronisation,
        ownership: Ownership,
        executor: int,
        first_clock: int = 0,
        before_use: Callable[[int], None] | None = None,
    ) -> None:
        """Blocks start as zeros; `first_clock`: the next mini-batch (after a resume not 0).

        `before_use`: called before each request with the bytes that it may take.
        """
        self.spec = spec
        self._consistency = sync.consistency
        self._held = HeldBlocks(spec, update, ownership, executor, first_clock)
        self._lock = self._held.lock
        self._gate = PullGate(self._held, spec.block_count, sync, first_clock)
        self._payloads = Payloads(spec)
        self._before_use = before_use
        self._handlers: Mapping[int, Callable[[Request, Target, int], None]] = {
            RequestKind.PULL: self._handle_pull,
            RequestKind.PUSH: self._handle_push,
            RequestKind.UPDATE: self._handle_update,
            RequestKind.PUT: self._handle_put,
            RequestKind.REFRESH: self._handle_refresh,
            RequestKind.EXCHANGE: self._handle_exchange,
        }

    # -- requests ----------------------------------------------------------------------------------

    def handle(self, request: Request, target: Target, offset: int) -> None:
        """Answer a table request, now or later; the rest of its meta begins at `offset`.

        Raises BadMessage for a kind that no table request has.
        """
        handler = self._handlers.get(request.kind)
        if handler is None:
            raise BadMessage(f"table {self.spec.number}: request kind {request.kind} is unknown")
        if self._before_use is not None:
            self._before_use(self._bytes_for(request, target))
        handler(request, target, offset)

    def _bytes_for(self, request: Request, target: Target) -> int:
        """A sum of all rows, if it does not lie in the request."""
        is_sum = request.kind == RequestKind.PUSH and target.row_count is not None
        return self._held.sum_bytes if is_sum else 0

    def pull(self, request: Request, target: Target, head: PullHead) -> None:
        """Answer with the values, at once or when their mini-batch begins.

        The pull also counts the mini-batches that its worker has finished: this owner may have none
        of the worker's pushes if its blocks arrived while the worker pushed.
        """
        if self._consistency.counts_finished and self._gate.finish(head.rank, target.clock):
            self._release_parked()
        self._answer_when_due(request, target)

    def push(self, request: Request, target: Target, head: PushHead) -> None:
        """Count a worker's contribution; acknowledged once it is counted."""
        named = self._held.find(request, target)
        if named is None:
            return
        has_committed, has_moved = self._contribute_all(request, named, head)
        if not self._consistency.is_lockstep:
            self._payloads.changed()
        if has_moved:
            self._held.redirect(request)
        else:
            request.reply(ReplyStatus.OK)
        finishes = head.is_last and self._consistency.counts_finished
        if finishes and not has_moved:
            self._gate.finish(head.rank, head.step.clock + 1)
        if has_committed or finishes:
            self._release_parked()

    def exchange(self, request: Request, target: Target, head: PushHead) -> None:
        """A PUSH and the REFRESH of the next mini-batch: answered with what is new by then.

        A worker that sends it again, because a block has moved, is still counted once.
        """
        named = self._held.find(request, target)
        if named is None:
            return
        has_committed, has_moved = self._contribute_all(request, named, head)
        following = target._replace(clock=target.clock + 1)
        if has_moved:
            self._held.redirect(request)
        elif has_committed or not self._gate.park(request, following, named):
            self._answer_when_due(request, following)
        if has_committed:
            self._release_parked()

    def update(self, request: Request, target: Target, client: int, numbers: Sequence[int]) -> None:
        """Run the update function on every named block, exactly once per (client, number)."""

        def write(named: NamedBlocks) -> None:
            contiguous = named.contiguous
            if contiguous is not None and named.row_count is None:
                whole = self._payloads.values_in(request.payload, is_delta=True)
                if contiguous.update(client, numbers, whole, _NO_STEP):
                    return
            deltas = self._payloads.split(named.pieces, request.payload, is_delta=True)
            for block, (_, rows), delta, number in zip(
                named.blocks, named.pieces, deltas, numbers, strict=True
            ):
                if delta is not None:
                    block.update(client, number, rows, delta, _NO_STEP)

        self._write(request, target, write)

    def put(self, request: Request, target: Target, client: int, numbers: Sequence[int]) -> None:
        """Replace values, exactly once per (client, number)."""

        def write(named: NamedBlocks) -> None:
            values = self._payloads.split(named.pieces, request.payload, is_delta=False)
            for block, (_, rows), new, number in zip(
                named.blocks, named.pieces, values, numbers, strict=True
            ):
                if new is not None:
                    block.put(client, number, rows, new)

        self._write(request, target, write)

    def _write(
        self, request: Request, target: Target, write: Callable[[NamedBlocks], None]
    ) -> None:
        named = self._held.find(request, target)
        if named is None:
            return
        try:
            write(named)
        except Departed:
            self._payloads.changed()
            self._held.redirect(request)
            return
        self._payloads.changed()
        request.reply(ReplyStatus.OK)

    # -- mini-batches ----------------------------------------------------------------------------

    def _contribute_all(
        self, request: Request, named: NamedBlocks, head: PushHead
    ) -> tuple[bool, bool]:
        """Contribute to all named blocks: whether one has committed, and whether one has moved."""
        has_committed = self._contribute_jointly(request, named, head)
        if has_committed is not None:
            return has_committed, False
        deltas = self._payloads.split(named.pieces, request.payload, is_delta=True)
        statistics = head.step.statistics
        has_moved = False
        has_committed = False
        for block, (number, rows), delta in zip(named.blocks, named.pieces, deltas, strict=True):
            try:
                contribution = Contribution(delta, rows, statistics)
                has_committed |= self._contribute(block, number, contribution, head)
            except Departed:
                has_moved = True
        return has_committed, has_moved

    def _contribute_jointly(
        self, request: Request, named: NamedBlocks, head: PushHead
    ) -> bool | None:
        """Contribute to all named blocks at once: whether they have committed; None: not done."""
        if named.contiguous is None or not self._consistency.is_lockstep:
            return None
        has_committed = self._contribute_as_one(named.contiguous, request, named, head)
        if has_committed:
            # First the revision: a pull that sees the new clock must not get a copy from before.
            self._payloads.changed()
            self._gate.commit(named.numbers, head.step.clock + 1)
        return has_committed

    def _contribute_as_one(
        self, contiguous: ContiguousBlocks, request: Request, named: NamedBlocks, head: PushHead
    ) -> bool | None:
        if self.spec.model.exchanges_changes:
            changes = self._payloads.changes_in(request.payload, len(named.blocks)).copy()
            return contiguous.contribute_changes(head.place, changes, head.step)
        delta = self._payloads.values_in(request.payload, is_delta=True)
        if len(delta) != (contiguous.length if named.row_count is None else named.row_count):
            return None
        contribution = Contribution(
            delta if len(delta) else None, named.span_rows, head.step.statistics
        )
        return contiguous.contribute(head.place, contribution, head.step)

    def _contribute(
        self, block: Block, number: int, contribution: Contribution, head: PushHead
    ) -> bool:
        if not self._consistency.is_lockstep:
            if not head.instances:
                return False
            share = head.instances / max(head.step.instances, 1)
            block.contribute_now(head.rank, contribution, replace(head.step, share=share))
            return False
        if not block.contribute(head.place, contribution, head.step):
            return False
        # First the revision: a pull that sees the new clock must not get a copy from before.
        self._payloads.changed()
        self._gate.commit(number, head.step.clock + 1)
        return True

    def _answer_when_due(self, request: Request, target: Target) -> None:
        """Answer with the values at once, or when the mini-batch `target.clock` begins."""
        while (named := self._held.find(request, target)) is not None:
            if self._gate.is_due(target, named):
                self._payloads.answer(request, named)
                return
            if self._gate.park(request, target, named):
                return

    def _release_parked(self) -> None:
        due = self._gate.take_due()
        now_us = monotonic_us()
        for entry in due:
            waited = WAIT.pack(now_us - entry.since_us)
            try:
                self._payloads.answer(entry.request, entry.named, waited)
            except Exception as error:
                entry.request.fail(error)

    # -- moving ------------------------------------------------------------------------------------

    @property
    def block_numbers(self) -> list[int]:
        """The blocks held here, ascending."""
        return self._held.numbers

    @property
    def ownership(self) -> Ownership:
        """The newest ownership table known here."""
        return self._held.ownership

    @property
    def worker_clocks(self) -> dict[int, int]:
        """How many mini-batches every worker has finished (SSP)."""
        return self._gate.worker_clocks

    def learn(self, ownership: Ownership) -> None:
        """Take a newer ownership table; blocks that it gives to this executor may now arrive."""
        self._held.learn(ownership)

    def settle(self) -> None:
        """Lay the blocks side by side again after blocks have come and gone."""
        self._held.settle()

    def await_blocks(self, numbers: Sequence[int], timeout_s: float) -> bool:
        """Wait until all of these are here; False when they are not by then."""
        return self._held.await_blocks(numbers, timeout_s)

    def hand_over(
        self, numbers: Sequence[int], ownership: Ownership
    ) -> Iterator[tuple[int, BlockState]]:
        """Remove blocks that are here; later requests for them are redirected. Each is brought into
        memory when it is asked for."""
        with self._lock:
            leaving = self._held.let_go(numbers, ownership)
            stranded = self._gate.remove_blocks(numbers)
        for request in stranded:
            self._held.redirect(request)
        return ((number, block.depart()) for number, block in leaving.items())

    @property
    def value_bytes(self) -> int:
        """Of the values of all blocks that are held here, wherever they are."""
        return self._held.value_bytes

    @property
    def memory_bytes(self) -> int:
        """Of the values of all blocks and of the sum of a mini-batch, when both are in memory."""
        return self._held.value_bytes + self._held.whole_sum_bytes

    def bring_back(self, has_room: Callable[[int], bool]) -> bool:
        """Have the values of all blocks in memory again; see HeldBlocks. Raises JobFailed."""
        return self._held.bring_back(has_room)

    def keep_in(self, make_place: MakePlace) -> None:
        """Have the values of all blocks in places outside of the memory from now on, as long as no
        request uses them. Raises JobFailed."""
        self._held.keep_in(make_place)
        with self._lock:  # Parked pulls would keep the memory.
            stranded = self._gate.remove_blocks(self._held.numbers)
        for request in stranded:
            self._held.redirect(request)

    def take_in(
        self, number: int, state: BlockState, version: int, worker_clocks: Mapping[int, int]
    ) -> None:
        """Own a block whose data have arrived, and answer the requests that waited for it.

        `version`: of the ownership table of the move; a block that arrives twice changes nothing.
        """
        block = self._held.made_of(number, state)
        self._payloads.changed()
        with self._lock:
            if not self._held.is_new(number, version):
                return
            self._gate.add_block(number, state.clock, worker_clocks)
            queued = self._held.take_in(number, block, version)
        for request in queued:
            self._handle_again(request)
        self._release_parked()

    def set_workers(self, workers: Sequence[int], clock: int) -> None:
        """Set the workers from now on; a new one begins with mini-batch `clock` (SSP)."""
        self._gate.set_workers(workers, clock)
        self._release_parked()

    def _handle_pull(self, request: Request, target: Target, offset: int) -> None:
        self.pull(request, target, PullHead.decode(request.meta, offset))

    def _handle_refresh(self, request: Request, target: Target, offset: int) -> None:
        if not self.spec.model.exchanges_changes:
            raise BadMessage(f"table {self.spec.number}: does not exchange changes")
        self._handle_pull(request, target, offset)

    def _handle_exchange(self, request: Request, target: Target, offset: int) -> None:
        if not (self.spec.model.exchanges_changes and self._consistency.is_lockstep):
            raise BadMessage(f"table {self.spec.number}: exchanges no changes in step")
        self.exchange(request, target, PushHead.decode(request.meta, offset, target.clock))

    def _handle_push(self, request: Request, target: Target, offset: int) -> None:
        self.push(request, target, PushHead.decode(request.meta, offset, target.clock))

    def _handle_update(self, request: Request, target: Target, offset: int) -> None:
        if self.spec.model.exchanges_changes:
            raise BadMessage(f"table {self.spec.number}: exchanges changes and takes no UPDATE")
        self.update(request, target, *_sequence(request.meta, offset, target))

    def _handle_put(self, request: Request, target: Target, offset: int) -> None:
        self.put(request, target, *_sequence(request.meta, offset, target))

    def _handle_again(self, request: Request) -> None:
        try:
            self.handle(request, *Target.decode(request.meta))
        except Exception as error:
            if not request.is_answered:
                request.fail(error)


_NO_STEP = Step(0, 0, 1, 0, 1, 1, 0)


def _sequence(meta: bytes, offset: int, target: Target) -> tuple[int, list[int]]:
    client = int.from_bytes(meta[offset : offset + 8], "little")
    numbers: list[int] = np.frombuffer(meta, np.uint64, target.block_count, offset + 8).tolist()
    return client, numbers
