"""Operations in, requests to executors and process starts and ends out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from controlled_generation import ControlledGeneration, controlled_generation
from motet.domain.errors import BadInput, JobFailed
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Switch
from motet.runtime.controller.ports import ClusterLost, ExecutorHandle, ExecutorLost
from motet.runtime.controller.reconfiguration.cost import Cost
from motet.runtime.controller.reconfiguration.operations import CannotLaunch, Operations
from motet.runtime.wire.assignment import Assignment
from motet.runtime.wire.control_messages import (
    ChangeWork,
    Dismiss,
    Hold,
    LearnOwners,
    Meet,
    MoveBlocks,
    PrepareWork,
    Settle,
    SetWorkers,
)
from scripted_executors import ScriptedExecutor


@dataclass
class Processes:
    """Starts and ends executors; `log` says which, in order."""

    made: ControlledGeneration
    log: list[tuple[str, int]] = field(default_factory=list)
    failure: Exception | None = None

    def launch(self, number: int) -> ScriptedExecutor:
        self.log.append(("launch", number))
        if self.failure is not None:
            raise self.failure
        return self.made.another(number)

    def retire(self, handle: ExecutorHandle) -> None:
        self.log.append(("retire", handle.number))
        handle.kill()


@pytest.fixture
def made() -> Iterator[ControlledGeneration]:
    with controlled_generation() as made:
        yield made


def operations(made: ControlledGeneration) -> tuple[Operations, Processes]:
    processes = Processes(made)
    return Operations(made.generation, made.layout, processes.launch, processes.retire), processes


def kinds(made: ControlledGeneration) -> dict[int, list[object]]:
    """The types of what every executor was asked; "configure" for an assignment."""
    return {
        number: [message[0] if message[0] is not str else message[1] for message in asked]
        for number, asked in made.asked().items()
    }


CHANGE = [Hold, SetWorkers, ChangeWork, SetWorkers]
WORK = [PrepareWork, *CHANGE]
ANNOUNCED = [SetWorkers, SetWorkers]


def test_a_new_worker_is_started_introduced_and_then_part_of_a_change(
    made: ControlledGeneration,
) -> None:
    operate, processes = operations(made)
    operate.carry_out(Add(4, "worker"))
    assert processes.log == [("launch", 4)]
    assert operate.layout.workers == (0, 1, 4)
    assert kinds(made) == {
        0: [Meet, LearnOwners, *CHANGE],
        1: [Meet, LearnOwners, *CHANGE],
        2: [Meet, LearnOwners, *ANNOUNCED],
        3: [Meet, LearnOwners, *ANNOUNCED],
        4: ["configure", LearnOwners, SetWorkers, ChangeWork, SetWorkers],
    }


def test_an_executor_that_is_there_becomes_a_server_without_a_message(
    made: ControlledGeneration,
) -> None:
    operate, processes = operations(made)
    operate.carry_out(Add(0, "server"))
    assert operate.layout.servers == (0, 2, 3)
    assert processes.log == []
    assert kinds(made) == {0: [], 1: [], 2: [], 3: []}


def test_a_worker_that_is_deleted_ends_once_all_have_begun_another_mini_batch(
    made: ControlledGeneration,
) -> None:
    operate, processes = operations(made)
    operate.carry_out(Delete(1))
    assert processes.log == [("retire", 1)]
    assert operate.layout.workers == (0,)
    assert operate.layout.data.blocks_of(1) == []
    assert kinds(made) == {
        0: [*WORK, *CHANGE],
        1: [*WORK, SetWorkers, SetWorkers, Dismiss],
        2: [*ANNOUNCED, *ANNOUNCED],
        3: [*ANNOUNCED, *ANNOUNCED],
    }


def test_a_server_that_is_deleted_hands_its_blocks_over_and_ends(
    made: ControlledGeneration,
) -> None:
    operate, processes = operations(made)
    operate.carry_out(Delete(2))
    assert processes.log == [("retire", 2)]
    assert operate.layout.servers == (3,)
    assert kinds(made) == {
        0: [LearnOwners, *CHANGE],
        1: [LearnOwners, *CHANGE],
        2: [MoveBlocks, LearnOwners, *ANNOUNCED, Dismiss],
        3: [LearnOwners, Settle, *ANNOUNCED],
    }


def test_an_executor_that_gives_up_one_of_two_roles_goes_on(made: ControlledGeneration) -> None:
    operate, processes = operations(made)
    operate.carry_out(Add(0, "server"))
    operate.carry_out(Delete(0, "server"))
    assert processes.log == []
    assert (operate.layout.workers, operate.layout.servers) == ((0, 1), (2, 3))


def test_a_switch_takes_the_new_role_on_before_it_gives_the_old_one_up(
    made: ControlledGeneration,
) -> None:
    operate, processes = operations(made)
    operate.carry_out(Switch(3, "worker"))
    assert processes.log == []
    assert (operate.layout.workers, operate.layout.servers) == ((0, 1, 3), (2,))
    assert kinds(made)[3] == [SetWorkers, ChangeWork, SetWorkers, MoveBlocks, LearnOwners]


def test_a_move_that_was_done_before_it_was_cut_off_is_not_repeated(
    made: ControlledGeneration,
) -> None:
    operate, _ = operations(made)
    (block, *_) = made.layout.model.blocks_of(2)
    assert operate.carry_out(Move("model", (block,), 3, 2)) == Cost()
    assert kinds(made) == {0: [], 1: [], 2: [], 3: []}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Move("data", (0,), 0, 3), "executor 3 is no worker any more"),
        (Move("model", (0,), 2, 1), "executor 1 is no server any more"),
    ],
)
def test_a_move_to_an_executor_that_lost_its_role_is_refused(
    made: ControlledGeneration, operation: Operation, message: str
) -> None:
    operate, _ = operations(made)
    with pytest.raises(BadInput, match=message):
        operate.carry_out(operation)


def test_the_only_worker_is_not_deleted() -> None:
    with controlled_generation(workers=1, machines=3) as made:
        operate, _ = operations(made)
        with pytest.raises(BadInput, match="executor 0 is the only worker"):
            operate.carry_out(Delete(0))


@pytest.mark.parametrize("failure", [JobFailed("no machine is free"), ExecutorLost("it died")])
def test_an_executor_that_does_not_start_changes_nothing(
    made: ControlledGeneration, failure: Exception
) -> None:
    operate, processes = operations(made)
    processes.failure = failure
    with pytest.raises(CannotLaunch, match=f"executor 4 did not start: {failure}"):
        operate.carry_out(Add(4, "worker"))
    assert operate.layout is made.layout
    assert kinds(made) == {0: [], 1: [], 2: [], 3: []}


def test_the_loss_of_the_cluster_is_no_failed_start(made: ControlledGeneration) -> None:
    operate, processes = operations(made)
    processes.failure = ClusterLost("the GCS does not answer")
    with pytest.raises(ClusterLost):
        operate.carry_out(Add(4, "worker"))


class DiesWhenConfigured(ScriptedExecutor):
    def configure(self, assignment: Assignment) -> None:
        raise ExecutorLost("its process is gone")


def test_an_executor_that_dies_when_it_is_admitted_is_ended(made: ControlledGeneration) -> None:
    ended: list[int] = []
    operate = Operations(
        made.generation, made.layout, DiesWhenConfigured, lambda it: (ended.append(4), it.kill())
    )
    with pytest.raises(CannotLaunch, match="executor 4 did not stay: its process is gone"):
        operate.carry_out(Add(4, "server"))
    assert ended == [4]
    assert operate.layout is made.layout
