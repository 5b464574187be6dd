"""An owner's part of one table: answers PULL, PUSH, UPDATE and PUT for the blocks that it owns.

The barrier of the mini-batch loop lives here and costs no message of its own. Under BSP a block
commits mini-batch k when every worker has contributed to it, and a PULL of mini-batch k + 1 is
parked until all blocks that it names have committed. Under SSP a PULL is parked until no worker is
more than `staleness` mini-batches behind; under async it never is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from motet.runtime.core.application import Step
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.accumulator import Contribution
from motet.runtime.server.block import Block, BlockState, Departed, UpdateFunction
from motet.runtime.server.held_blocks import Holdings, Named
from motet.runtime.server.payloads import Payloads
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ANY_CLOCK, WAIT, PushHead, Target
from motet.transport import Request


@dataclass(frozen=True, eq=False)
class _Parked:
    target: Target
    named: Named
    request: Request
    since_us: int


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
    ) -> None:
        """Blocks start as zeros; `first_clock`: the next mini-batch (after a resume not 0)."""
        self._sync = sync
        self._holdings = Holdings(spec, update, ownership, executor, first_clock)
        self._lock = self._holdings.lock
        self._payloads = Payloads(spec)
        self._parked: list[_Parked] = []
        self._worker_clocks = dict.fromkeys(sync.workers, first_clock)
        self._block_clocks = np.full(spec.block_count, first_clock, dtype=np.int64)

    # -- requests ----------------------------------------------------------------------------------

    def handle(self, request: Request, target: Target, offset: int) -> None:
        """Answer a table request, now or later; the rest of its meta begins at `offset`."""
        if request.kind == RequestKind.PULL:
            self.pull(request, target)
        elif request.kind == RequestKind.PUSH:
            self.push(request, target, PushHead.decode(request.meta, offset, target.clock))
        else:
            client, numbers = _sequence(request.meta, offset, target)
            apply = self.update if request.kind == RequestKind.UPDATE else self.put
            apply(request, target, client, numbers)

    def pull(self, request: Request, target: Target) -> None:
        """Answer with the values, at once or when their mini-batch begins."""
        while (named := self._holdings.find(request, target)) is not None:
            if self._is_due(target, named):
                self._payloads.answer(request, named)
                return
            if self._park(request, target, named):
                return

    def push(self, request: Request, target: Target, head: PushHead) -> None:
        """Count a worker's contribution; acknowledged once it is counted."""
        named = self._holdings.find(request, target)
        if named is None:
            return
        deltas = self._payloads.split(named.pieces, request.payload, is_delta=True)
        statistics = head.step.statistics
        committed, has_moved = False, False
        for block, (number, rows), delta in zip(named.blocks, named.pieces, deltas, strict=True):
            try:
                contribution = Contribution(delta, rows, statistics)
                committed |= self._contribute(block, number, contribution, head)
            except Departed:
                has_moved = True
        if self._sync.consistency != "bsp":
            self._payloads.changed()
        if has_moved:
            self._holdings.redirect(request)
        else:
            request.reply(ReplyStatus.OK)
        if self._sync.consistency == "ssp" and not has_moved:
            self._finished(head)
        if committed or (head.is_last and self._sync.consistency == "ssp"):
            self._release_parked()

    def update(self, request: Request, target: Target, client: int, numbers: Sequence[int]) -> None:
        """Run the update function on every named block, exactly once per (client, number)."""
        named = self._holdings.find(request, target)
        if named is None:
            return
        neighbours, whole = (
            named.neighbours,
            self._payloads.values_in(request.payload, is_delta=True),
        )
        try:
            if neighbours is None or not neighbours.update(client, numbers, whole, _NO_STEP):
                deltas = self._payloads.split(named.pieces, request.payload, is_delta=True)
                for block, (_, rows), delta, number in zip(
                    named.blocks, named.pieces, deltas, numbers, strict=True
                ):
                    if delta is not None:
                        block.update(client, number, rows, delta, _NO_STEP)
        except Departed:
            self._payloads.changed()
            self._holdings.redirect(request)
            return
        self._payloads.changed()
        request.reply(ReplyStatus.OK)

    def put(self, request: Request, target: Target, client: int, numbers: Sequence[int]) -> None:
        """Replace values, exactly once per (client, number)."""
        named = self._holdings.find(request, target)
        if named is None:
            return
        values = self._payloads.split(named.pieces, request.payload, is_delta=False)
        try:
            for block, (_, rows), new, number in zip(
                named.blocks, named.pieces, values, numbers, strict=True
            ):
                if new is not None:
                    block.put(client, number, rows, new)
        except Departed:
            self._payloads.changed()
            self._holdings.redirect(request)
            return
        self._payloads.changed()
        request.reply(ReplyStatus.OK)

    # -- mini-batches ----------------------------------------------------------------------------

    def _contribute(
        self, block: Block, number: int, contribution: Contribution, head: PushHead
    ) -> bool:
        if self._sync.consistency != "bsp":
            if not head.instances:
                return False
            share = head.instances / max(head.step.instances, 1)
            block.contribute_now(head.rank, contribution, replace(head.step, share=share))
            return False
        if not block.contribute(head.place, contribution, head.step):
            return False
        # First the revision: who sees the new clock must not be given a copy from before.
        self._payloads.changed()
        with self._lock:
            # The block may have left and come back meanwhile.
            self._block_clocks[number] = max(head.step.clock + 1, self._block_clocks[number])
        return True

    def _is_due(self, target: Target, named: Named) -> bool:
        if target.clock == ANY_CLOCK or self._sync.consistency == "async":
            return True
        if self._sync.consistency == "ssp":
            slowest = min(self._worker_clocks.values(), default=target.clock)
            return target.clock - slowest <= self._sync.staleness
        return bool((self._block_clocks[named.numbers] >= target.clock).all())

    def _park(self, request: Request, target: Target, named: Named) -> bool:
        """Keep a pull until it is due; False when it is by now, or when blocks came or went."""
        with self._lock:
            if named.layout != self._holdings.layout or self._is_due(target, named):
                return False
            self._parked.append(_Parked(target, named, request, monotonic_us()))
            return True

    def _finished(self, head: PushHead) -> None:
        if head.is_last and head.rank in self._worker_clocks:
            with self._lock:
                clock = max(head.step.clock + 1, self._worker_clocks[head.rank])
                self._worker_clocks[head.rank] = clock

    def _release_parked(self) -> None:
        with self._lock:
            due: list[_Parked] = []
            waiting: list[_Parked] = []
            for entry in self._parked:
                (due if self._is_due(entry.target, entry.named) else waiting).append(entry)
            self._parked = waiting
        now_us = monotonic_us()
        for entry in due:
            try:
                self._payloads.answer(
                    entry.request, entry.named, WAIT.pack(now_us - entry.since_us)
                )
            except Exception as error:
                entry.request.fail(error)

    # -- moving ------------------------------------------------------------------------------------

    @property
    def block_numbers(self) -> list[int]:
        """The blocks held here, ascending."""
        return self._holdings.numbers

    @property
    def ownership(self) -> Ownership:
        """The newest ownership table known here."""
        return self._holdings.ownership

    @property
    def worker_clocks(self) -> dict[int, int]:
        """How many mini-batches every worker has finished (SSP)."""
        with self._lock:
            return dict(self._worker_clocks)

    def learn(self, ownership: Ownership) -> None:
        """Take a newer ownership table; blocks that it gives to this executor may now arrive."""
        self._holdings.learn(ownership)

    def settle(self) -> None:
        """Blocks have come and gone: lay those that are here side by side."""
        self._holdings.settle()

    def await_blocks(self, numbers: Sequence[int], timeout_s: float) -> bool:
        """Until all of these are here; False when they are not by then."""
        return self._holdings.await_blocks(numbers, timeout_s)

    def hand_over(
        self, numbers: Sequence[int], ownership: Ownership
    ) -> list[tuple[int, BlockState]]:
        """Let go of blocks that are here; from now on who asks for them is redirected."""
        gone = set(numbers)
        with self._lock:
            leaving = self._holdings.let_go(numbers, ownership)
            stranded = [e for e in self._parked if not gone.isdisjoint(e.named.numbers.tolist())]
            self._parked = [entry for entry in self._parked if entry not in stranded]
        for entry in stranded:
            self._holdings.redirect(entry.request)
        return [(number, block.depart()) for number, block in leaving.items()]

    def take_in(
        self, number: int, state: BlockState, version: int, worker_clocks: Mapping[int, int]
    ) -> None:
        """Own a block whose data have arrived, and answer those that waited for it.

        `version`: of the ownership table of the move; a block that arrives twice changes nothing.
        """
        block = self._holdings.made_of(number, state)
        self._payloads.changed()
        with self._lock:
            if not self._holdings.is_new(number, version):
                return
            for rank in self._worker_clocks.keys() & worker_clocks.keys():
                clock = max(self._worker_clocks[rank], worker_clocks[rank])
                self._worker_clocks[rank] = clock
            self._block_clocks[number] = state.clock
            queued = self._holdings.take_in(number, block, version)
        for request in queued:
            self._handle_again(request)
        self._release_parked()

    def set_workers(self, workers: Sequence[int], clock: int) -> None:
        """These compute from now on; who is new begins with mini-batch `clock` (SSP)."""
        with self._lock:
            known = self._worker_clocks
            self._worker_clocks = {rank: known.get(rank, clock) for rank in workers}
        self._release_parked()

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
