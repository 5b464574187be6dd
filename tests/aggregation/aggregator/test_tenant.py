"""What happens to other tensors of a job leaves those of a joint account joint."""

from __future__ import annotations

from aggregation_training import AggregatorPool, SmallTraining
from motet.aggregation.tensors.tensor_slot import TensorSlot

TRAINING = SmallTraining(shapes=((3,), (1,), (4,), (2,), (5,)), steps=5, workers=1)


def test_a_step_of_a_replica_leaves_the_tensors_here_joint() -> None:
    seen = list[bool]()
    with AggregatorPool(1) as pool:
        tenant = pool.aggregators[0].tenant(1)

        def are_joint(step: int) -> bool:
            return tenant.tensors.values(tuple(range(len(TRAINING.shapes))), step - 1) is not None

        def on_step(rank: int, step: int) -> None:
            if step == TRAINING.steps:
                seen.append(are_joint(step))
                replica = TensorSlot(7, TRAINING.specs[0], TRAINING.spec)
                tenant.keep_replica(replica)
                tenant.followed(tenant.follow([7]), is_complete=True)
                seen.append(are_joint(step))

        TRAINING.run(pool.table, on_step)
    assert seen == [True, True]
