"""What preemptions, migrations and rescales were charged in simulations, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from motet.report.cluster_run.run_label import Document, run_label
from motet.report.rendering.quantities import count_text, quantity

_LARGE_SHARE = 0.2
_PERIODS = ("quantum_s", "epoch_s", "lease_s", "interval_s")
"""Parameters with the time between two decisions of a policy."""
_RESTARTS_PER_TURN, _ROUND_S = 20, 60
_RESTARTS = ("preemptions", "migrations")
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
        return [_nothing_charged(documents, ", ".join(groups))]
    charges = [_charge(setting, same, len(groups) > 1) for setting, same in groups.items()]
    whole = "; ".join(charges)
    charged = f"Charged for each restart (preemption, migration, rescale): {whole}."
    return [charged, *busy_restoring_notes(documents)]


def _nothing_charged(documents: Sequence[Document], settings: str) -> str:
    """Restarts that cost nothing are not among those that are charged."""
    restarts = sum(int(run.get(name, 0)) for run in documents for name in _RESTARTS)
    if not restarts:
        return f"No job was restarted, so nothing was charged ({settings})."
    return f"Nothing was charged for {count_text(restarts, 'restart')} ({settings})."


def busy_restoring_notes(documents: Sequence[Document]) -> list[str]:
    """A line for every policy whose restarts took a large part of the time on GPUs."""
    notes: dict[str, str] = {}
    for run in documents:
        if restoring_share(run) >= _LARGE_SHARE and cost_setting(run):
            notes.setdefault(run_label(run), _busy_restoring(run))
    return list(notes.values())


def _busy_restoring(run: Document) -> str:
    """What a policy pays, and which settings change that."""
    costs = run["restart_costs"]
    label, policy = run_label(run), run["policy"]
    paid = f"{label} spent {costs['share']:.0%} of the time on GPUs in {costs['count']:,} restarts"
    cheaper = f"charge what you measure (--set {policy}.preemption_cost=SECONDS)"
    period = next((name for name in _PERIODS if float(run["params"].get(name) or 0) > 0), None)
    if period is None:
        return f"{paid}; {cheaper}."
    longer_s = math.ceil(_RESTARTS_PER_TURN * costs["mean_s"] / _ROUND_S) * _ROUND_S
    longer = f"decide less often (--set {policy}.{period}={longer_s})"
    return f"{paid}, as {period} is {run['params'][period]}; {longer}, or {cheaper}."


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
