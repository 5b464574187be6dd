"""Starts or joins the cluster of a command. Ray is imported only for `--ray` and `--address`.

This module imports nothing slow, so that a start begins before the imports of the command.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

from motet.apps import APPLICATIONS
from motet.domain.errors import BadInput
from motet.runtime.backends.local.template_process import TemplateProcess

if TYPE_CHECKING:
    from motet.runtime.backends.local.cluster import LocalCluster
    from motet.runtime.backends.ray.cluster import RayCluster


def require_ray(option: str) -> None:
    """Raises BadInput, which names the option, if Ray is not installed."""
    if find_spec("ray") is None:
        raise BadInput(f"{option} needs Ray; install it with: pip install 'motet[cluster]'")


class ClusterStart:
    """A start that begins before the rest of the command; a context manager that ends it.

    `apps`: what will be trained. `address`: of a Ray cluster to join; `with_ray`: start a Ray here.
    With neither, executors are processes of this machine: their imports and kernels take longer
    than a small training, so they begin at once. Raises BadInput: Ray is not installed.
    """

    def __init__(
        self, apps: Iterable[str], address: str | None = None, *, with_ray: bool = False
    ) -> None:
        self._address = address
        self._template: TemplateProcess | None = None
        if address is None and not with_ray:
            known = [APPLICATIONS[app] for app in apps if app in APPLICATIONS]
            self._template = TemplateProcess(known)
        else:
            require_ray("--ray" if address is None else "--address")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._template is not None:
            self._template.end()
            self._template.close()

    def cluster(self, machines: int, at_least: int | None = None) -> LocalCluster | RayCluster:
        """A context manager. Raises MotetError.

        `at_least`: number of machines that must be available now (None: all).
        """
        if self._template is not None:
            from motet.runtime.backends.local.cluster import LocalCluster

            return LocalCluster(machines, self._template)
        from motet.runtime.backends.ray.cluster import RayCluster

        if self._address is None:
            return RayCluster.embedded(machines=machines)
        return RayCluster.join(self._address, machines=machines, at_least=at_least)
