"""Linear regression by several workers; a pool of Aggregators sums their gradients.

python examples/shared_aggregation.py RANK WORKERS
"""

import sys

import numpy as np

from motet.aggregation.agent import OptimizerSpec, TensorSpec, join_pool

rank, workers = int(sys.argv[1]), int(sys.argv[2])
features = np.random.default_rng(rank).normal(size=(256, 4)).astype(np.float32)
targets = features @ np.array([1, 2, 3, 4], np.float32)

weights = np.zeros(4, np.float32)
group = {"lr": 0.1, "momentum": 0.5}
agent = join_pool("regression", rank, workers)
agent.initialise([TensorSpec("weights", (4,))], OptimizerSpec("sgd", (group,)), [weights])  # Init
for _ in range(100):
    gradient = features.T @ (features @ weights - targets) / len(features)
    agent.push(0, gradient)
    agent.finish_step([group])
    agent.pull(0, weights).wait()
agent.close()
print(f"worker {rank} of {workers}: {weights.round(3)}")
