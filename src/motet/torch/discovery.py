"""The Aggregators of the job that a process belongs to, found in its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from motet.aggregation.agent.gradient_service import GradientService
from motet.aggregation.wire.pool_address import ADDRESS_VARIABLE, FIRST_WORLD_SIZE
from motet.domain.errors import BadInput


def service_of_environment(
    *,
    job: str = "",
    rank: int | None = None,
    workers: int | None = None,
    loss_limit: float | None = None,
) -> GradientService:
    """Join the pool of Aggregators that MOTET_AGGREGATION names.

    `job`, `rank`, `workers`: as in the environment, if not given: RANK and WORLD_SIZE of torchrun
    or of a live cluster; without them it is one process. `loss_limit`: see `join_pool`. Raises
    BadInput: there is no pool.
    """
    environment = os.environ
    if ADDRESS_VARIABLE not in environment:
        raise BadInput(
            f"there is no pool of Aggregators: {ADDRESS_VARIABLE} is not set. Start one with "
            "'motet aggregator start' and set the variable as it says, or submit the program to a "
            "server with --aggregators"
        )
    from motet.aggregation.agent.pool_agent import join_pool

    return join_pool(
        job or job_of_environment(environment),
        _number(environment, "RANK", 0) if rank is None else rank,
        _workers(environment) if workers is None else workers,
        loss_limit=loss_limit,
    )


def job_of_environment(environment: Mapping[str, str]) -> str:
    """A name that the processes of a job share: MOTET_JOB, the attempt of a job of the live
    cluster, or where the processes of torchrun meet."""
    if given := environment.get("MOTET_JOB"):
        return given
    if run := environment.get("MOTET_RUN_ID"):
        return f"{run}.{environment.get('MOTET_ATTEMPT_NUMBER', '1')}"
    if "MASTER_PORT" in environment:
        meeting = f"{environment.get('MASTER_ADDR', 'localhost')}:{environment['MASTER_PORT']}"
        return f"torchrun-{meeting}.{environment.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    return f"process-{os.getpid()}"


def _workers(environment: Mapping[str, str]) -> int:
    """That begin the job: of an elastic one, others may have joined since."""
    return _number(environment, FIRST_WORLD_SIZE, _number(environment, "WORLD_SIZE", 1))


def _number(environment: Mapping[str, str], name: str, otherwise: int) -> int:
    text = environment.get(name, str(otherwise))
    if not text.isdigit():
        raise BadInput(f"{name}={text!r} in the environment; it is a whole number")
    return int(text)
