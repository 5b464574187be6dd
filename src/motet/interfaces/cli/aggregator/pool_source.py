"""Where commands learn what is on the Aggregators: from a pool, or from the server of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from motet.aggregation.control.pool_client import PoolClient
from motet.aggregation.wire.job_credentials import JOB_VARIABLE
from motet.aggregation.wire.pool_address import ADDRESS_VARIABLE
from motet.domain.errors import BadInput, Unreachable
from motet.interfaces.cli.aggregator.default_pool import default_address
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress


@dataclass(frozen=True)
class PoolPlace:
    """What the options name; None: not given."""

    address: Path | None
    server: str | None
    state_folder: Path | None

    @property
    def is_server(self) -> bool:
        """Whether a server is asked. Raises BadInput."""
        names_server = self.server is not None or self.state_folder is not None
        if names_server and self.address is not None:
            raise BadInput("--address names a pool without a server; leave out the other option")
        if names_server or self.address is not None:
            return names_server
        is_job = JOB_VARIABLE in os.environ  # Its address is for the workers of the job.
        has_own = bool(os.environ.get(ADDRESS_VARIABLE)) and not is_job
        return not (has_own or default_address().exists())


@dataclass(frozen=True)
class PoolSource:
    """`document`: all Aggregators and jobs. `explain`: of a job, where its tensors are."""

    document: Callable[[], dict[str, Any]]
    explain: Callable[[str], dict[str, Any]]


@contextmanager
def pool_source(place: PoolPlace) -> Iterator[PoolSource]:
    """Raises BadInput, Unreachable, AuthenticationFailed."""
    if place.is_server:
        with _server(place) as client:
            yield PoolSource(client.aggregation, client.tensors)
        return
    with PoolClient.find(place.address, default_address()) as pool:
        yield PoolSource(lambda: _document(pool), lambda job: _plain(pool.explain(job)))


def _server(place: PoolPlace) -> LiveClient:
    try:
        return LiveClient(ServerAddress.find(place.server, place.state_folder))
    except Unreachable as error:
        if place.server is not None or place.state_folder is not None:
            raise
        raise Unreachable(
            "no pool of Aggregators runs here; start one with 'motet aggregator start', or a "
            f"server with 'motet server --aggregators N' ({error})"
        ) from error


def _document(pool: PoolClient) -> dict[str, Any]:
    view = _plain(pool.describe())
    return {"aggregators": view["aggregators"], "jobs": view["jobs"]}


def _plain(view: Any) -> dict[str, Any]:
    """Tuples are lists, as JSON and YAML have them."""
    found: dict[str, Any] = _listed(asdict(view))
    return found


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(each) for name, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value
