"""The table of reasons to wait is complete, and its names are those of files."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from motet.domain.wait import COMPARISONS, WAITS, BlockerRule, DelayCause, Wait, wait_named
from motet.insight.cluster_wait import ClusterWait, reason_words
from motet.insight.waits import PARTS

KEYS = (
    *("too_few_gpus", "behind_head", "locality", "quota", "order", "behind_locality"),
    *("less_progress", "more_left", "too_few_cpus", "too_little_memory", "share", "outbid"),
    *("lease_over", "left_unknown", "fall_unknown", "restart_delayed"),
    *("min_runtime", "preemption_rate", "queue_limit", "queue_guarantee", "queue_held"),
    *("no_gain", "group_memory"),
    "machines_drained",
)
"""As they are in files that were written before."""


def test_codes_and_keys_stay_those_of_files() -> None:
    assert [int(wait) for wait in Wait] == list(range(len(Wait)))
    assert tuple(wait.key for wait in WAITS) == KEYS


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.key)
def test_every_code_has_a_complete_row(wait: Wait) -> None:
    row = wait.reason
    assert re.fullmatch("([A-Z][a-z]+)+", row.name)
    assert row.title
    assert row.advice.format(job=7)
    assert isinstance(row.cause, DelayCause)
    assert isinstance(row.blockers, BlockerRule)
    named = {part for _, part, _, _ in Formatter().parse(row.sentence) if part is not None}
    assert named
    assert named <= set(PARTS)


def test_names_titles_and_sentences_are_unique() -> None:
    rows = [*(wait.reason for wait in WAITS), *(wait.value for wait in ClusterWait)]
    for column in ("name", "title", "sentence"):
        values = [getattr(row, column) for row in rows]
        assert len({*values}) == len(values)


def test_every_part_is_named_by_a_template_and_every_cause_and_rule_by_a_row() -> None:
    of_cluster = ClusterWait.DEPENDENCY, ClusterWait.ARRAY_LIMIT, ClusterWait.CLUSTER_UNREACHABLE
    rows = [*(wait.reason for wait in WAITS), *(wait.value for wait in of_cluster)]
    templates = "".join(row.sentence for row in rows)
    assert all(f"{{{part}}}" in templates for part in PARTS)
    assert {wait.reason.cause for wait in WAITS} == {*DelayCause}
    assert {wait.reason.blockers for wait in WAITS} == {*BlockerRule}


def test_waits_that_compare_jobs_are_those_with_a_measure() -> None:
    assert {wait.key for wait in COMPARISONS} == {
        *("less_progress", "more_left", "share", "outbid", "left_unknown", "fall_unknown"),
        *("queue_limit", "queue_guarantee", "no_gain", "machines_drained"),
    }


def test_a_job_that_runs_has_no_reason_to_wait() -> None:
    with pytest.raises(ValueError, match="RUNS is no reason to wait"):
        _ = Wait.RUNS.reason


@pytest.mark.parametrize("key", ["runs", "boredom", "TOO_FEW_GPUS", ""])
def test_an_unknown_name_is_an_error(key: str) -> None:
    for named in (wait_named, reason_words):
        with pytest.raises(ValueError, match="unknown reason to wait"):
            named(key)
    assert wait_named("quota") is Wait.QUOTA
    assert reason_words("quota") is Wait.QUOTA.reason
    assert reason_words("array_limit") is ClusterWait.ARRAY_LIMIT.value
