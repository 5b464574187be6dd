"""A move of model blocks in, requests to the servers out."""

from __future__ import annotations

import pytest

from controlled_generation import GENERATION, ControlledGeneration, controlled_generation
from motet.domain.errors import BadInput
from motet.runtime.controller.reconfiguration.cost import Cost
from motet.runtime.controller.reconfiguration.model_moves import ModelMoves, blocks_to_hand_over
from motet.runtime.controller.reconfiguration.shared_layout import SharedLayout
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.wire.control_messages import BlocksMoved, LearnOwners, MoveBlocks, Settle
from wire_messages import plain

TOOK = {MoveBlocks: lambda message: BlocksMoved(100 * len(message.blocks), 500_000)}


def moves(made: ControlledGeneration) -> tuple[ModelMoves, SharedLayout]:
    layout = SharedLayout(made.layout)
    return ModelMoves(made.generation, layout), layout


def test_the_source_hands_over_all_learn_and_the_destination_settles() -> None:
    with controlled_generation(TOOK) as made:
        model, layout = moves(made)
        assert model.move([0, 2], source=2, destination=3) == Cost(200, 0.5)
        owners = layout.now.model
        assert {int(owners.owners[block]) for block in (0, 2)} == {3}
        learn = plain(LearnOwners(GENERATION, MODEL_TABLE, owners))
        assert made.asked() == {
            0: [learn],
            1: [learn],
            2: [plain(MoveBlocks(GENERATION, MODEL_TABLE, (0, 2), 3, owners)), learn],
            3: [learn, plain(Settle(GENERATION, MODEL_TABLE))],
        }


def test_blocks_are_not_moved_to_an_executor_that_is_no_server() -> None:
    with controlled_generation() as made:
        model, layout = moves(made)
        with pytest.raises(BadInput, match="executor 1 is no server any more"):
            model.move([0], source=2, destination=1)
        assert layout.now is made.layout
        assert set(map(len, made.asked().values())) == {0}


def test_a_server_that_is_emptied_loses_its_role_and_its_blocks_first() -> None:
    with controlled_generation(TOOK) as made:
        model, layout = moves(made)
        blocks = made.layout.model.blocks_of(2)
        assert model.empty(2) == Cost(100 * len(blocks), 0.5)
        assert layout.now.servers == (3,)
        assert layout.now.model.blocks_of(3) == list(range(len(layout.now.model.owners)))
        first = made.asked()[2][0]
        assert first == plain(
            MoveBlocks(GENERATION, MODEL_TABLE, tuple(blocks), 3, layout.now.model)
        )


def test_the_only_server_is_not_emptied() -> None:
    with controlled_generation(servers=1, machines=3) as made:
        model, _ = moves(made)
        with pytest.raises(BadInput, match="is the only server"):
            model.empty(2)


def test_blocks_are_handed_over_to_the_servers_with_the_fewest() -> None:
    with controlled_generation(servers=3, machines=5) as made:
        layout = made.layout.retired(2)
        pieces = blocks_to_hand_over(layout, 2)
        assert sorted(block for blocks in pieces.values() for block in blocks) == (
            layout.model.blocks_of(2)
        )
        counts = [len(layout.model.blocks_of(n)) + len(pieces[n]) for n in (3, 4)]
        assert max(counts) - min(counts) <= 1
        assert blocks_to_hand_over(layout.repaired(), 2) == {}
