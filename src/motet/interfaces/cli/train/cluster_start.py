"""Starts or joins the Ray cluster of a command. Ray is imported here, after all checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.domain.errors import BadInput

if TYPE_CHECKING:
    from motet.runtime.ray_backend.cluster import RayCluster


def start_cluster(
    machines: int, address: str | None = None, at_least: int | None = None
) -> RayCluster:
    """A context manager: an embedded cluster, or the one at `address`. Raises MotetError.

    `at_least`: number of machines that must be available now (None: all).
    """
    try:
        from motet.runtime.ray_backend.cluster import RayCluster
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise BadInput(
            "training needs Ray; install it with: pip install 'motet[cluster]'"
        ) from None
    if address is None:
        return RayCluster.embedded(machines=machines)
    return RayCluster.join(address, machines=machines, at_least=at_least)
