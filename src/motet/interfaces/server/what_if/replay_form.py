"""What the form of the page asks for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from motet.domain.errors import BadInput
from motet.engine.policy_loading.catalogue import built_in_policies, parameters_of
from motet.engine.policy_loading.setting_texts import setting_text
from motet.interfaces.api_access.given_moments import past_moment
from motet.interfaces.server.what_if.replay_store import WantedReplay

PERIODS: Mapping[str, timedelta | None] = {
    "all jobs": None,
    "the last hour": timedelta(hours=1),
    "the last 6 hours": timedelta(hours=6),
    "the last day": timedelta(days=1),
    "the last 7 days": timedelta(days=7),
    "the last 30 days": timedelta(days=30),
}
_LONGEST_SETTINGS = 4096


def wanted_replay(given: Mapping[str, str], now: datetime) -> WantedReplay:
    """`policy`, `settings` (a line per parameter), `period` and `moment` (overrides the period; as
    `--since` of the command). Raises BadInput."""
    settings = _settings(given.get("settings", ""))
    begin = _begin(given.get("period", ""), given.get("moment", "").strip(), now)
    since_us = None if begin is None else round(begin.timestamp() * 1e6)
    return WantedReplay(given.get("policy", "").strip(), settings, since_us)


def policies() -> list[dict[str, Any]]:
    """The built-in policies with the names and defaults of their parameters, for the form."""
    return [
        {
            "name": name,
            "parameters": [
                f"{each.name}={setting_text(each.default)}" for each in parameters_of(policy)
            ],
        }
        for name, policy in built_in_policies().items()
    ]


def _settings(text: str) -> dict[str, str]:
    if len(text) > _LONGEST_SETTINGS:
        raise BadInput(f"the parameters have more than {_LONGEST_SETTINGS} characters")
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, separator, value = line.partition("=")
        if not separator or not name.strip():
            raise BadInput(f"{line[:80]!r}: give a parameter as NAME=VALUE, one per line")
        found[name.strip()] = value.strip()
    return found


def _begin(period: str, moment: str, now: datetime) -> datetime | None:
    if moment:
        return past_moment("moment", moment, now)
    if period not in PERIODS:
        raise BadInput("choose a period")
    length = PERIODS[period]
    return None if length is None else now - length
