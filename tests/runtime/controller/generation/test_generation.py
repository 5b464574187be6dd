"""What a generation asks its executors, in which order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from controlled_generation import (
    CONTROLLER_ENDPOINT,
    GENERATION,
    ControlledGeneration,
    controlled_generation,
)
from motet.domain.errors import Unreachable
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.wire.assignment import CONTROLLER, RunOutcome
from motet.runtime.wire.control_messages import (
    Dismiss,
    InstanceState,
    LearnOwners,
    LoadRows,
    Meet,
    ReadState,
    SetWorkers,
)
from motet.runtime.wire.messages import RequestKind
from wire_messages import plain


@pytest.fixture
def made() -> Iterator[ControlledGeneration]:
    with controlled_generation() as made:
        yield made


def test_every_executor_is_assigned_its_part_of_the_generation(made: ControlledGeneration) -> None:
    made.generation.set_up(made.rows, made.start)
    (assignment,) = made.executors[2].assignments
    assert (assignment.generation, assignment.first_epoch) == (GENERATION, 3)
    assert assignment.sync.workers == (0, 1)
    assert assignment.endpoints == {
        CONTROLLER: CONTROLLER_ENDPOINT,
        **{number: executor.endpoint() for number, executor in made.executors.items()},
    }


def test_data_blocks_go_to_their_owners_and_the_model_to_servers(
    made: ControlledGeneration,
) -> None:
    made.generation.set_up(made.rows, made.start)
    for number in (0, 1):
        configured, *loads = made.executors[number].asked
        assert configured == "configure"
        assert all(isinstance(load, LoadRows) for load in loads)
        assert sorted(load.block for load in loads) == made.layout.data.blocks_of(number)
        assert {load.occasion for load in loads} == {-1}
        assert made.executors[number].table_requests == []
    for number in (2, 3):
        assert made.executors[number].asked == ["configure"]
        assert set(made.executors[number].table_requests) == {RequestKind.PUT}


def test_instances_are_sent_with_the_state_of_the_checkpoint(made: ControlledGeneration) -> None:
    shuffled = made.rows.take(np.arange(len(made.rows))[::-1])
    state = made.start.state.with_columns({"visits": made.start.state.ids * 10.0})
    made.generation.set_up(shuffled, type(made.start)(3, made.start.model, state))
    loads = [load for n in (0, 1) for load in made.executors[n].asked if isinstance(load, LoadRows)]
    for load in loads:
        assert load.rows["visits"].tolist() == (load.rows.ids * 10.0).tolist()
    assert sum(len(load.rows) for load in loads) == len(made.rows)


def test_state_is_read_from_the_workers_and_ordered_by_id() -> None:
    parts = iter([[4, 1], [3, 0]])

    def state(message: ReadState) -> InstanceState:
        ids = np.array(next(parts), dtype=np.int64)
        return InstanceState(made.rows.take(ids).select(["visits"]))

    with controlled_generation({ReadState: state}) as made:
        assert made.generation.read_state(clock=44).ids.tolist() == [0, 1, 3, 4]
        asked = plain(ReadState(GENERATION))
        assert made.asked() == {0: [asked], 1: [asked], 2: [], 3: []}


def test_a_newcomer_gets_what_was_announced_while_it_was_being_admitted(
    made: ControlledGeneration,
) -> None:
    newcomer = made.another(4)
    made.generation.announce_workers((0, 1), 5)
    configure = newcomer.configure

    def announce_meanwhile(assignment: object) -> None:
        configure(assignment)  # type: ignore[arg-type]
        made.generation.announce_workers((0,), 6)

    newcomer.configure = announce_meanwhile  # type: ignore[method-assign]
    made.asked()
    made.generation.admit(newcomer, made.layout.model)
    announced = plain(SetWorkers(GENERATION, (0,), 6))
    meet = plain(Meet(GENERATION, {4: newcomer.endpoint()}))
    assert made.asked() == {
        **{number: [announced, meet] for number in range(4)},
        4: [plain("configure"), announced],
    }
    assert newcomer.assignments[0].sync.workers == (0, 1)
    assert newcomer.on_end is not None
    assert made.generation.members.numbers == [0, 1, 2, 3, 4]


def test_owners_are_taught_to_all_executors(made: ControlledGeneration) -> None:
    moved = made.layout.model.moved([0], 3)
    made.generation.teach(moved)
    taught = [plain(LearnOwners(GENERATION, MODEL_TABLE, moved))]
    assert made.asked() == dict.fromkeys(range(4), taught)


def test_a_dismissed_executor_is_asked_nothing_more(made: ControlledGeneration) -> None:
    assert made.generation.dismiss(1) is made.executors[1]
    made.generation.announce_workers((0,), 2)
    others = [plain(SetWorkers(GENERATION, (0,), 2))]
    assert made.asked() == {0: others, 1: [plain(Dismiss(GENERATION))], 2: others, 3: others}


def test_the_process_of_a_dismissed_executor_may_have_ended_before(
    made: ControlledGeneration,
) -> None:
    made.executors[1].kill()
    made.generation.dismiss(1)
    assert made.generation.members.numbers == [0, 2, 3]


def test_an_executor_that_is_dismissed_while_it_is_asked_need_not_answer(
    made: ControlledGeneration,
) -> None:
    made.executors[1].kill()
    made.generation.members.expect_end(1)
    made.generation.announce_workers((0, 1), 2)


def test_an_executor_that_died_fails_what_is_sent_to_all(made: ControlledGeneration) -> None:
    made.executors[1].kill()
    with pytest.raises(Unreachable):
        made.generation.announce_workers((0, 1), 2)


def test_the_end_of_an_executor_is_reported_with_its_life(made: ControlledGeneration) -> None:
    ends: list[tuple[int, int, RunOutcome | None]] = []
    made.generation.start(lambda *end: ends.append(end))
    old = made.executors[1]
    made.generation.dismiss(1)
    new = made.another(1)
    made.generation.admit(new, made.layout.model)
    assert old.on_end is not None
    assert new.on_end is not None
    old.on_end(1, None)
    new.on_end(1, RunOutcome("finished"))
    old.kill()
    assert ends == [(1, 0, None), (1, 1, RunOutcome("finished"))]
