"""Defaults of a pool's rules: of the planner, of pMaster, and in the help of commands."""

from __future__ import annotations

LOSS_LIMIT = 0.1
"""LossLimit: the share of its speed that no job loses."""
PERIOD_S = 30.0
"""Between two changes of the plan that no job asked for."""
ON_DEMAND = 0
"""New Aggregators that waiting jobs may need before they are allocated at once; 0: always."""
CLUSTER_SIZE = 64
"""Aggregators that a cluster is filled to."""
