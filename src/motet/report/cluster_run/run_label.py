"""Labels of runs: the name of the policy, and in a sweep the value of the swept parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Document = Mapping[str, Any]
"""The entry of a run in the document of `motet simulate --json`."""


class Sweep(NamedTuple):
    """A swept parameter and its value in one run, as text."""

    parameter: str
    value: str


def sweep_of(document: Document) -> Sweep | None:
    """The sweep that a run belongs to; None outside of sweeps."""
    return Sweep(**document["sweep"]) if "sweep" in document else None


def value_text(value: str) -> str:
    """The value as shown in tables and figures; an empty list is shown as "none"."""
    return value or "none"


def run_label(document: Document) -> str:
    """`fifo`, or `tiresias-las promote_knob=8`; runs that differ in the seed only share a label."""
    sweep, policy = sweep_of(document), str(document["policy"])
    return policy if sweep is None else f"{policy} {sweep.parameter}={value_text(sweep.value)}"


def swept_parameters(documents: Sequence[Document]) -> list[str]:
    """Parameters with at least two values among these runs."""
    found: dict[str, set[str]] = {}
    for sweep in map(sweep_of, documents):
        if sweep is not None:
            found.setdefault(sweep.parameter, set()).add(sweep.value)
    return [parameter for parameter, values in found.items() if len(values) > 1]
