"""One decision of the live cluster once more: from the journal, with the same input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motet.domain.errors import NotFound
from motet.domain.units import seconds
from motet.insight.record_words import action_words, event_words
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.simulation_start import SimulationStart
from motet.live.journal.record import Record
from motet.live.journal.recorded_step import actions_of, actions_text
from motet.live.master.replay import ReplayedCluster, events_of

MOST_JOBS, MOST_LINES = 200, 100


@dataclass(frozen=True)
class DecisionQuestion:
    """`at_us`: Unix time of the decision."""

    at_us: int


def decided_again(journal: FollowedJournal, asked: DecisionQuestion) -> dict[str, Any]:
    """The state before a decision, its input, what was decided then, and what is decided now.

    `journal`: not read yet. Raises NotFound, JournalDamaged.
    """
    journal.read(asked.at_us - 1)
    cluster = journal.cluster
    before = _before(cluster)
    steps = [_step(cluster, record) for record in journal.unread(asked.at_us)]
    if not steps:
        raise NotFound("the journal has no decision of this time")
    return {**before, "steps": steps, "is_same": all(step["is_same"] for step in steps)}


def _before(cluster: ReplayedCluster) -> dict[str, Any]:
    """The jobs in line and the machines that the policy sees."""
    rows = SimulationStart.of(cluster.engine).with_sizes({}).rows
    state = cluster.state
    jobs = [
        {
            "id": str(number),
            "name": state.jobs[number].title,
            "queue": state.jobs[number].spec.queue,
            "priority": state.jobs[number].spec.priority,
            "slots": row["gpus"],
            "held": row["held_gpus"],
            "attained_s": seconds(row.get("attained_gpu_us", 0)),
        }
        for number, row in sorted(rows.items())
    ]
    slots = sum(state.cluster.slots) if state.cluster else 0
    return {
        "policy": state.policy.policy,
        "settings": dict(state.policy.settings),
        "jobs": jobs[:MOST_JOBS],
        "job_count": len(jobs),
        "slots": slots,
        "held": sum(job["held"] for job in jobs),
    }


def _step(cluster: ReplayedCluster, record: Record) -> dict[str, Any]:
    """One record; the cluster is in the state after it."""
    events = events_of(record)
    again = cluster.decided(record)
    assert cluster.state.cluster is not None
    machines, queues = cluster.state.cluster.names, cluster.state.queues
    then = actions_of(record.actions)
    return {
        "record": record.sequence,
        "software": record.software,
        "events": [event_words(each, machines, queues) for each in events[:MOST_LINES]],
        "event_count": len(events),
        "then": [action_words(each, machines) for each in then[:MOST_LINES]],
        "again": [action_words(each, machines) for each in again[:MOST_LINES]],
        "action_count": len(then),
        "is_same": actions_text(again) == record.actions,
    }
