"""What preemptions, migrations and rescales were charged in simulations, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from motet.report.cluster_run.run_label import Document, run_label
from motet.report.rendering.quantities import quantity

_COSTS = ("preemption_cost", "rescale_cost")


def restart_notes(documents: Sequence[Document]) -> list[str]:
    """The average charge of a restart under each cost setting; nothing for runs of earlier
    versions, which did not record it.
    """
    groups: dict[str, list[Document]] = {}
    for document in documents:
        if "restart_costs" in document and (setting := cost_setting(document)):
            groups.setdefault(setting, []).append(document)
    if not groups:
        return []
    if not any(_count(same) for same in groups.values()):
        return [f"No job was restarted, so nothing was charged ({', '.join(groups)})."]
    charges = [_charge(setting, same, len(groups) > 1) for setting, same in groups.items()]
    whole = "; ".join(charges)
    return [f"Charged for each restart (preemption, migration, rescale): {whole}."]


def restoring_share(document: Document) -> float:
    """The part of the time on GPUs that restarts took; 0 in runs of earlier versions."""
    costs: Mapping[str, float] = document.get("restart_costs", {})
    return costs.get("share", 0.0)


def cost_setting(document: Document) -> str:
    """`preemption_cost=10`, with `rescale_cost` where it was set; empty if not recorded."""
    params: Mapping[str, object] = document.get("params", {})
    return ", ".join(f"{name}={params[name]}" for name in _COSTS if name in params)


def _charge(setting: str, same: Sequence[Document], has_others: bool) -> str:
    count = _count(same)
    costs = [run["restart_costs"] for run in same]
    total_s = math.fsum(cost["count"] * cost["mean_s"] for cost in costs)
    average = f"{quantity(total_s / count)} s on average" if count else "nothing"
    labels = ", ".join(dict.fromkeys(map(run_label, same)))
    return f"{labels}: {average} ({setting})" if has_others else f"{average} ({setting})"


def _count(documents: Iterable[Document]) -> int:
    return sum(int(run["restart_costs"]["count"]) for run in documents)
