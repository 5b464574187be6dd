"""Aggregators as processes that are killed while workers train."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from aggregation_training import QUOTA_BYTES, RouteTable, SmallTraining, same, same_state
from motet.aggregation.control.aggregator_process import AggregatorProcess
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.domain.errors import MotetError, Unreachable
from motet.transport import new_secret, write_secret

TRAINING = SmallTraining(kind="adam", options={"lr": 0.1}, shapes=((3, 4), (5,), (300, 300), ()))


class ProcessPool:
    """Aggregators in processes of their own, with one job open; tensors begin on the first two."""

    def __init__(self, folder: Path, count: int, stack: ExitStack) -> None:
        self._stack = stack
        secret_file = folder / "pool.secret"
        pool_secret, self.secret = new_secret(), new_secret()
        write_secret(secret_file, pool_secret)
        self.processes = [stack.enter_context(AggregatorProcess(secret_file)) for _ in range(count)]
        self.controls = [RemoteAggregator(p.endpoint, pool_secret) for p in self.processes]
        for control in self.controls:
            stack.callback(control.close)
            control.open_job(JobAccess(1, "job 1", self.secret, QUOTA_BYTES))
        self.table = RouteTable(1, self.secret, [p.endpoint for p in self.processes])
        self.table.routes(TRAINING.specs)
        for aggregator in range(2, count):
            self.table.move(self.table.on(aggregator), aggregator % 2)

    def peer(self, aggregator: int) -> str:
        return self.processes[aggregator].endpoint.encode()

    def replicate(self) -> None:
        """The replicas of the first are on the second, and the other way round."""
        for number in (0, 1):
            self.controls[number].replicate(1, self.table.on(number), self.peer(1 - number))

    def kill(self, victim: int) -> None:
        """With SIGKILL; the other one takes over."""
        self.processes[victim].process.kill()
        self.processes[victim].process.wait()
        tensors = self.table.on(victim)
        self.controls[1 - victim].promote(1, tensors)
        living = [each for each in self.controls if each is not self.controls[victim]]
        self._stack.callback(self._watch(living, self.peer(victim)))
        self.table.move(tensors, 1 - victim)

    @staticmethod
    def _watch(controls: list[RemoteAggregator], dead: str) -> Callable[[], None]:
        """Let Aggregators go on without replicas there, as pMaster does; how to end that."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.02):
                for control in controls:
                    if any(dead in each.lost_replicas for each in control.measurements()):
                        control.forget_replicas(1, dead)

        thread = threading.Thread(target=watch)
        thread.start()

        def end() -> None:
            ended.set()
            thread.join()

        return end


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_killed_aggregator_is_replaced_without_a_trace_in_the_curve(
    tmp_path: Path, stack: ExitStack
) -> None:
    pool = ProcessPool(tmp_path, 2, stack)

    def on_step(rank: int, step: int) -> None:
        if rank == 0 and step == 2:
            pool.replicate()
        if rank == 0 and step == 4:
            pool.kill(0)

    found = TRAINING.run(pool.table, on_step)
    values, state = TRAINING.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


class RandomKill:
    """Kills one of the first two Aggregators at a random moment of a random step.

    `moves`: tensors of the other one go to the third and back meanwhile.
    """

    def __init__(self, pool: ProcessPool, choices: random.Random, *, moves: bool) -> None:
        self._pool = pool
        self._victim = choices.randrange(2)
        self._step = choices.randrange(3, 30)
        self._timer = threading.Timer(choices.random() * 0.02, self._kill)
        self._killed = threading.Event()
        self._mover = threading.Thread(target=self._move) if moves else None
        self.failures: list[MotetError] = []

    def __call__(self, rank: int, step: int) -> None:
        if rank != 0:
            return
        if step == 2:
            self._pool.replicate()
            if self._mover is not None:
                self._mover.start()
        if step == self._step:
            self._timer.start()
        if step == self._step + 5:
            self._killed.wait()

    def join(self) -> None:
        self._timer.join()
        if self._mover is not None:
            self._mover.join()

    def _kill(self) -> None:
        self._pool.kill(self._victim)
        self._killed.set()

    def _move(self) -> None:
        survivor = 1 - self._victim
        tensors = self._pool.table.on(survivor)
        try:
            for source, target in ((survivor, 2), (2, survivor)):
                self._pool.controls[source].move(1, tensors, self._pool.peer(target))
        except MotetError as error:
            self.failures.append(error)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(12))
def test_kills_at_any_moment_leave_no_trace_in_the_curve(
    tmp_path: Path, stack: ExitStack, seed: int
) -> None:
    choices = random.Random(seed)
    pool = ProcessPool(tmp_path, 3, stack)
    training = replace(TRAINING, steps=40, workers=choices.choice((1, 2, 3)), seed=seed)
    kill = RandomKill(pool, choices, moves=bool(seed % 2))
    found = training.run(pool.table, kill)
    kill.join()
    values, state = training.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)
    assert kill.failures == []


def test_a_missing_secret_file_is_one_clear_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "motet.aggregation.aggregator", "--secret-file", tmp_path / "no"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        done.stderr.strip() == f"{tmp_path}/no: cannot read the secret: No such file or directory"
    )


def test_a_process_that_does_not_start_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="ended with status 2"):
        AggregatorProcess(tmp_path / "no")
