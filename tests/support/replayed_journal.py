"""Journals of a live master that runs played jobs, and the reports of their replays."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from timed_master import TimedRows, at_once, play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
NOON_US = 1_700_000_000 * SECOND_US
POLICIES: dict[str, dict[str, str]] = {
    "fifo": {},
    "best-effort": {},
    "tiresias-las": {"thresholds": "4,20"},
    "gandiva": {"packing": "false", "quantum_s": "4"},
    "drf": {},
    "yarn-cs": {},
}
FAST_POLICIES = ("tiresias-las",)
"""Under which `make test` runs tests that take long: it preempts, and decides by time."""
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))


def at(second: float) -> int:
    return NOON_US + round(second * SECOND_US)


def seconds_of(rows: Sequence[tuple[float, float, int]]) -> TimedRows:
    return [(at(submit), round(run * SECOND_US), slots) for submit, run, slots in rows]


def asked(
    rows: Sequence[tuple[float, float, int]],
    in_force: str,
    wanted: str,
    others: Sequence[tuple[int, Input]] = (),
    **more: Any,
) -> dict[str, Any]:
    """The report about a cluster that was left to itself until all jobs had ended."""
    until_s, needed_us = more.pop("until_s", 1e6), more.pop("needed_us", None)
    start_up_us, cluster = more.pop("start_up_us", at_once), more.pop("cluster", CLUSTER)
    declares, stop_us = more.pop("declares", False), more.pop("stop_us", at_once)
    finish_us, unheard_us = more.pop("finish_us", 0), more.pop("unheard_us", None)
    failing_us, loss_us = more.pop("failing_us", None), more.pop("loss_us", 0)
    with tempfile.TemporaryDirectory() as home:
        address = f"{home}/journal.db"
        policy = ChoosePolicy(in_force, POLICIES.get(in_force, {}))
        with JournalStore(address) as store:
            timed = seconds_of(rows)
            took = {"needed_us": needed_us, "start_up_us": start_up_us, "declares": declares}
            took |= {"stop_us": stop_us, "finish_us": finish_us, "unheard_us": unheard_us}
            took |= {"failing_us": failing_us, "loss_us": loss_us}
            play(store, cluster, timed, policy, others, at(until_s), **took)
        question = WhatIfQuestion(wanted, POLICIES.get(wanted, {}), **more)
        return what_if(FollowedJournal(address), question)


def completions(report: dict[str, Any], column: str) -> list[float | None]:
    return [each[column] for each in report["job_list"]]
