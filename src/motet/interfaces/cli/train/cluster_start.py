"""Starts or joins the cluster of a command. Ray is imported here, only if it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from motet.apps import APPLICATIONS
from motet.domain.errors import BadInput
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.backends.local.template_client import TemplateClient

if TYPE_CHECKING:
    from motet.runtime.backends.ray.cluster import RayCluster


class ClusterStart:
    """A start that begins before the data are read; a context manager that ends it.

    `apps`: what will be trained. `address`: of a Ray cluster to join; `with_ray`: start a Ray here.
    With neither, executors are processes of this machine: their imports and kernels take longer
    than a small training, so they begin at once.
    """

    def __init__(
        self, apps: Iterable[str], address: str | None = None, *, with_ray: bool = False
    ) -> None:
        self._address = address
        self._template = TemplateClient() if address is None and not with_ray else None
        if self._template is not None:
            for app in APPLICATIONS.keys() & set(apps):
                self._template.preload(APPLICATIONS[app])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._template is not None:
            self._template.close()

    def cluster(self, machines: int, at_least: int | None = None) -> LocalCluster | RayCluster:
        """A context manager. Raises MotetError.

        `at_least`: number of machines that must be available now (None: all).
        """
        if self._template is not None:
            return LocalCluster(machines, self._template)
        try:
            from motet.runtime.backends.ray.cluster import RayCluster
        except ModuleNotFoundError as error:
            if error.name != "ray":
                raise
            raise BadInput(
                f"{'--ray' if self._address is None else '--address'} needs Ray; install it with: "
                "pip install 'motet[cluster]'"
            ) from None
        if self._address is None:
            return RayCluster.embedded(machines=machines)
        return RayCluster.join(self._address, machines=machines, at_least=at_least)
