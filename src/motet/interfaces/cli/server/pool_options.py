"""Options of `motet server` for the cluster's pool of Aggregators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from motet.aggregation.rule_defaults import LOSS_LIMIT


def pool_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them; the command gets the parameter `pool`, None: the cluster has none."""

    @wraps(command)
    def wrapped(
        *args: Any,
        aggregators: int,
        loss_limit: float | None,
        queue_texts: tuple[str, ...],
        bandwidth: str | None,
        **others: Any,
    ) -> Any:
        from motet.domain.errors import BadInput

        if aggregators:
            pool = _pool(aggregators, loss_limit or LOSS_LIMIT, queue_texts, bandwidth)
            return command(*args, pool=pool, **others)
        given = {
            "--queue-loss-limit": queue_texts,
            "--loss-limit": loss_limit,
            "--bandwidth": bandwidth,
        }
        for name, value in given.items():
            if value not in (None, ()):
                raise BadInput(f"{name}: of the pool of Aggregators; give --aggregators N, too")
        return command(*args, pool=None, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _pool(
    aggregators: int, loss_limit: float, queue_texts: tuple[str, ...], bandwidth: str | None
) -> Any:
    from motet.interfaces.cli.shell.option_types import link_rate, queue_loss_limits
    from motet.interfaces.cli.shell.server_extra import require_server_extra

    require_server_extra()
    from motet.aggregation.master.processes.pool_settings import PoolSettings
    from motet.interfaces.server.aggregation.pool_of_server import PoolOfServer

    settings = PoolSettings(aggregators, loss_limit, link_bps=link_rate(bandwidth))
    return PoolOfServer(settings, queue_loss_limits(queue_texts))


_OPTIONS = (
    click.option(
        "--aggregators",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Run a pool of Aggregators for the PyTorch jobs of the cluster, of which at most N "
        "serve tensors (docs/aggregation.md). Default: 0, no pool.",
    ),
    click.option(
        "--loss-limit",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="X",
        help="Share of its speed that no job of the pool may lose to others, unless its job file "
        f"says otherwise. Default: {LOSS_LIMIT}.",
    ),
    click.option(
        "--queue-loss-limit",
        "queue_texts",
        multiple=True,
        metavar="QUEUE=X",
        help="The same for the jobs of a queue; can be given several times.",
    ),
    click.option(
        "--bandwidth",
        metavar="B",
        help="Bandwidth of the link of an Aggregator, such as 10gbit: no Aggregator gets more "
        "traffic than that. Default: links are not counted.",
    ),
)
