"""Which policies can use a log, and what they lack in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.engine.policy_loading.catalogue import built_in_policies
from motet.report.rendering.palette import QUIET_STYLE
from motet.sim.workload.input_coverage import MissingInput, missing_inputs
from motet.sim.workload.workload import Workload

FULLY, PARTLY, NOT = "fully", "partly", "no"
ORACLE_MARK = "+"
_STYLES = {FULLY: "green", PARTLY: "yellow", NOT: "red"}


@dataclass(frozen=True)
class PolicyUse:
    """How a policy can use the jobs of a log. `knows_durations`: it gets run times."""

    policy: str
    missing: tuple[MissingInput, ...]
    knows_durations: bool

    @property
    def verdict(self) -> str:
        """`no` if it needs something that no job has, `partly` if it lacks anything else."""
        if any(each.is_needed and each.is_total for each in self.missing):
            return NOT
        return PARTLY if self.missing else FULLY

    def document(self) -> dict[str, Any]:
        """The fields for JSON."""
        return {
            "policy": self.policy,
            "usable": self.verdict,
            "knows_durations": self.knows_durations,
            "missing_inputs": [each.as_dict() for each in self.missing],
        }


def policy_uses(jobs: Workload) -> list[PolicyUse]:
    """Of all built-in policies, the most useful ones first."""
    uses = [
        PolicyUse(name, missing_inputs(policy, jobs), policy.knows_durations)
        for name, policy in built_in_policies().items()
    ]
    return sorted(uses, key=lambda use: (FULLY, PARTLY, NOT).index(use.verdict))


def policy_use_page(uses: Sequence[PolicyUse]) -> RenderableType:
    """A table with a row for all policies that lack the same, and its legend."""
    table = Table(box=None, pad_edge=False, header_style=QUIET_STYLE)
    for name in ("usable", "policies", "what they lack in this log"):
        table.add_column(name, overflow="fold")
    alike: dict[tuple[str, str], list[str]] = {}
    for use in uses:
        lacks = "; ".join(_lack_text(each) for each in use.missing)
        alike.setdefault((use.verdict, lacks), []).append(_name(use))
    for (verdict, lacks), names in alike.items():
        table.add_row(Text(verdict, _STYLES[verdict]), Text(", ".join(names)), lacks)
    if not any(use.knows_durations for use in uses):
        return table
    told = f"{ORACLE_MARK} run times of the log are known to it in advance, as in no real cluster"
    return Group(table, Text(told, QUIET_STYLE))


def _name(use: PolicyUse) -> str:
    return f"{use.policy}{ORACLE_MARK}" if use.knows_durations else use.policy


def _lack_text(lack: MissingInput) -> str:
    who = "no" if lack.is_total else f"{lack.jobs:,} of {lack.of:,} jobs without"
    return f"{who} {lack.input}: {lack.effect}"
