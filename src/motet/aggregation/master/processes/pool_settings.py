"""What the starter of a pool chooses."""

from __future__ import annotations

from dataclasses import dataclass

from motet.aggregation.rule_defaults import LOSS_LIMIT, ON_DEMAND, PERIOD_S


@dataclass(frozen=True)
class PoolSettings:
    """`most_aggregators`: processes that serve tensors. `loss_limit`: the share of its speed that
    no job may lose. `period_s`: between two changes that no job asked for. `on_demand`: new
    Aggregators that jobs may wait for until the period ends. `host`: where all processes listen.
    `link_bps`: bits per second of the link of an Aggregator; None: links are not limited.
    """

    most_aggregators: int
    loss_limit: float = LOSS_LIMIT
    period_s: float = PERIOD_S
    on_demand: int = ON_DEMAND
    host: str = "127.0.0.1"
    link_bps: int | None = None
