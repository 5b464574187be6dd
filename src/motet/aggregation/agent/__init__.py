"""The Agent: a training process's access to the Aggregators of its job (Init, Push, Pull)."""

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.pool_agent import join_pool
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec

__all__ = ["NumpyAgent", "OptimizerSpec", "TensorSpec", "join_pool"]
