"""Changes of the policy as rows of an explanation. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from motet.domain.units import seconds
from motet.live.jobs.job import LiveJob
from motet.live.master.facts import PolicyChosen
from motet.live.master.state import LiveState


def with_policy_changes(
    chapters: Iterable[dict[str, Any]], state: LiveState, job: LiveJob, now_us: int
) -> list[dict[str, Any]]:
    """The chapters of a job, and the changes of the policy in its life, by time."""
    ends_us = job.ended_us or now_us
    changes = [
        _chapter(at_us, chosen)
        for at_us, chosen in state.policies
        if job.submitted_us < at_us <= ends_us
    ]
    return sorted([*chapters, *changes], key=lambda chapter: float(chapter["from"]))


def _chapter(at_us: int, chosen: PolicyChosen) -> dict[str, Any]:
    who = f" by {chosen.user}" if chosen.user else ""
    return {
        "kind": "moment",
        "from": seconds(at_us),
        "to": None,
        "duration_s": None,
        "event": "policy",
        "sentence": f"the policy was changed to {policy_text(chosen)}{who}",
    }


def policy_text(chosen: PolicyChosen) -> str:
    """`tiresias-las (quantum_s=1)`."""
    settings: Mapping[str, str] = chosen.settings
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f"{chosen.policy} ({told})" if told else chosen.policy
