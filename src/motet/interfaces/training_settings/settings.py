"""The parameters of `--set`: those of the application, and those of every training run."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from motet.apps.estimator import Estimator
from motet.interfaces.training_settings.parameters import (
    Parameter,
    constructor_parameters,
    parse_settings,
    require_whole,
)
from motet.runtime.core.consistency import (
    DEFAULT_CONSISTENCY,
    Consistency,
    ConsistencyName,
    consistency_of,
)

COMMON = {
    entry.name: entry
    for entry in (
        Parameter("worker_batch_size", int | None, None),
        Parameter("consistency", ConsistencyName, DEFAULT_CONSISTENCY.name),
        Parameter("staleness", int, 0),
        Parameter("checkpoint_every", int, 10),
    )
}
# Constructor arguments that have a flag of their own: --epochs, --seed.
NOT_SETTABLE = ("epochs", "random_state")


@dataclass(frozen=True)
class Settings:
    """The values of `--set`: an application with its parameters, and those of the run."""

    app: Estimator
    consistency: Consistency
    worker_batch_size: int | None
    checkpoint_every: int


def default_epochs(app_class: type[Estimator]) -> int:
    """Epochs of a run without `--epochs`: the default of the constructor, if it has one.

    Raises BadInput: that is no whole number of at least 1.
    """
    parameter = constructor_parameters(app_class).get("epochs")
    if parameter is None or parameter.default in (None, inspect.Parameter.empty):
        return app_class.default_epochs
    return require_whole("epochs", parameter.default)


def settable_parameters(app_class: type[Estimator]) -> dict[str, Parameter]:
    """Every parameter that `--set` can change in a run of this application."""
    return _own_parameters(app_class) | COMMON


def read_training_settings(app_class: type[Estimator], settings: Sequence[str]) -> Settings:
    """Parse `--set` texts. Raises BadInput for unknown names and values of the wrong type."""
    own = _own_parameters(app_class)
    values = parse_settings(settings, own | COMMON, app_class.name)
    common = {name: values.get(name, entry.default) for name, entry in COMMON.items()}
    return Settings(
        app=app_class(**{name: value for name, value in values.items() if name in own}),
        consistency=consistency_of(values.get("consistency"), values.get("staleness", 0)),
        worker_batch_size=common["worker_batch_size"],
        checkpoint_every=common["checkpoint_every"],
    )


def _own_parameters(app_class: type[Estimator]) -> dict[str, Parameter]:
    found = constructor_parameters(app_class)
    return {name: entry for name, entry in found.items() if name not in NOT_SETTABLE}
