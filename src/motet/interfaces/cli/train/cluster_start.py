"""Starts or joins the cluster of a command. Ray is imported here, only if it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.domain.errors import BadInput
from motet.runtime.local_backend.cluster import LocalCluster

if TYPE_CHECKING:
    from motet.runtime.ray_backend.cluster import RayCluster


def start_cluster(
    machines: int,
    address: str | None = None,
    at_least: int | None = None,
    *,
    with_ray: bool = False,
) -> LocalCluster | RayCluster:
    """A context manager: processes of this machine, a Ray of its own, or the one at `address`.

    `at_least`: number of machines that must be available now (None: all). Raises MotetError.
    """
    if address is None and not with_ray:
        return LocalCluster(machines)
    try:
        from motet.runtime.ray_backend.cluster import RayCluster
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise BadInput(
            f"{'--ray' if address is None else '--address'} needs Ray; install it with: "
            "pip install 'motet[cluster]'"
        ) from None
    if address is None:
        return RayCluster.embedded(machines=machines)
    return RayCluster.join(address, machines=machines, at_least=at_least)
