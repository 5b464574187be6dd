"""The parameters that `--set` knows: an application's own, and those of every training run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from motet.apps.estimator import Estimator
from motet.domain.errors import BadInput
from motet.interfaces.cli.apps.parameters import Parameter, constructor_parameters, parse_settings
from motet.runtime.core.options import Consistency

COMMON = {
    entry.name: entry
    for entry in (
        Parameter("worker_batch_size", int | None, None),
        Parameter("consistency", Literal["bsp", "ssp", "async"], "bsp"),
        Parameter("staleness", int, 0),
        Parameter("checkpoint_every", int, 10),
    )
}
# Constructor arguments that only `fit` reads, or that have a flag of their own (--epochs, --seed).
NOT_SETTABLE = ("epochs", "random_state", "tol")


@dataclass(frozen=True)
class Settings:
    """What `--set` said: an application with its parameters, and the run's."""

    app: Estimator
    consistency: Consistency
    staleness: int
    worker_batch_size: int | None
    checkpoint_every: int


def settable_parameters(app_class: type[Estimator]) -> dict[str, Parameter]:
    """Every parameter that `--set` can change in a run of this application."""
    return _own_parameters(app_class) | COMMON


def read_settings(app_class: type[Estimator], settings: Sequence[str]) -> Settings:
    """Raises BadInput for names nobody knows and values of the wrong type."""
    own = _own_parameters(app_class)
    values = parse_settings(settings, own | COMMON, app_class.name)
    common = {name: values.get(name, entry.default) for name, entry in COMMON.items()}
    return Settings(
        app=app_class(**{name: value for name, value in values.items() if name in own}),
        consistency=_consistency(values),
        staleness=common["staleness"],
        worker_batch_size=common["worker_batch_size"],
        checkpoint_every=common["checkpoint_every"],
    )


def _own_parameters(app_class: type[Estimator]) -> dict[str, Parameter]:
    found = constructor_parameters(app_class)
    return {name: entry for name, entry in found.items() if name not in NOT_SETTABLE}


def _consistency(values: Mapping[str, Any]) -> Consistency:
    """A staleness alone asks for SSP; with anything but SSP it would mean nothing."""
    staleness = values.get("staleness", 0)
    consistency: Consistency = values.get("consistency", "ssp" if staleness else "bsp")
    if staleness and consistency != "ssp":
        raise BadInput(
            f"staleness={staleness} with consistency={consistency}: staleness belongs to ssp; "
            "use consistency=ssp or leave staleness out"
        )
    return consistency
