"""Names of simulations, which are also the names of their folders."""

from __future__ import annotations

import re
from collections.abc import Sequence

from motet.report.cluster_run.run_label import value_text
from motet.sim.experiment import Experiment

LONGEST_VALUE = 80
_NOT_IN_NAMES = re.compile(r"[^\w.,+-]")


def run_names_of(experiments: Sequence[Experiment]) -> list[str]:
    """`fifo`, `fifo-seed3` where there are several seeds, `tiresias-las-promote_knob=8-seed3`.

    Names are unique: a number is appended to a name that occurred before.
    """
    has_seeds = len({experiment.seed for experiment in experiments}) > 1
    names: list[str] = []
    for experiment in experiments:
        name = _NOT_IN_NAMES.sub("_", experiment.name)
        if experiment.swept is not None:
            value = value_text(experiment.settings[experiment.swept])
            name += f"-{experiment.swept}={_NOT_IN_NAMES.sub('_', value)[:LONGEST_VALUE]}"
        name += f"-seed{experiment.seed}" if has_seeds else ""
        names.append(f"{name}-{len(names)}" if name in names else name)
    return names
