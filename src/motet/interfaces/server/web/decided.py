"""The page of decisions: what changed at every moment, and why other jobs wait. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motet.domain.log_entry import LogEntry
from motet.insight.log_events import story_event
from motet.insight.sentences import account
from motet.insight.wording import in_slots
from motet.interfaces.server.stories.explanation import rules_in_force
from motet.interfaces.server.web.drawings import colour_of
from motet.interfaces.server.web.pages import common, local_time
from motet.live.master.decision_history import DecisionRound
from motet.live.master.state import LiveState

ROUNDS_PER_PAGE = 25
_MOST_CHANGES, _MOST_WAITS = 10, 5


def decided(state: LiveState, page: int) -> dict[str, Any]:
    """`page`: 1 has the latest rounds; a number above the last one is the last one."""
    history = state.history
    pages = max(1, -(-history.round_count // ROUNDS_PER_PAGE))
    page = min(max(page, 1), pages)
    rounds = [
        decided_round(state, each, _MOST_CHANGES, _MOST_WAITS)
        for each in history.rounds((page - 1) * ROUNDS_PER_PAGE, ROUNDS_PER_PAGE)
    ]
    count = history.round_count
    return {**common(state), "rounds": rounds, "page": page, "pages": pages, "count": count}


def decided_round(
    state: LiveState, found: DecisionRound, most_changes: int, most_waits: int
) -> dict[str, Any]:
    """One moment, in words."""
    return {
        "time_us": found.time_us,
        "at": local_time(found.time_us),
        "changes": _lines(state, found.changes[:most_changes]),
        "change_count": len(found.changes),
        "waits": _lines(state, found.waits[:most_waits]),
        "wait_count": len(found.waits),
    }


def _lines(state: LiveState, entries: Sequence[LogEntry]) -> list[dict[str, Any]]:
    assert state.cluster is not None
    rules = rules_in_force(state)
    return [
        {
            "job": each.job,
            "name": state.jobs[each.job].title,
            "colour": colour_of(each.job),
            "sentence": in_slots(
                account(story_event(each, str, state.cluster.names), rules.at(each.time_us))
            ),
        }
        for each in entries
    ]
