"""Engine and state of the live cluster as a fold over the records of its journal. Pure.

A record holds what its decision changed, so no policy is asked. Records of formats 1 and 2 hold the
actions only: their steps are decided once more, and the recorded actions are taken as true.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from motet.domain.actions import Action
from motet.domain.errors import BadInput, MotetError
from motet.domain.events import Event, event_from_json
from motet.domain.log_entry import LogEntry
from motet.domain.model_profile import SKEW_PROFILES
from motet.domain.snapshot import Queues
from motet.engine.journal.repeated_log import RepeatedLog
from motet.engine.measurements.late_fitters import late_fitted_measurements
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.recorded_engine import RecordedEngine
from motet.engine.state.cluster_state import ClusterState
from motet.live.journal.divergence import Divergence
from motet.live.journal.record import Record
from motet.live.journal.recorded_step import RecordedDecision, actions_of, decision_of
from motet.live.journal.tables import JournalDamaged
from motet.live.master.facts import ClusterDeclared, facts_from_json
from motet.live.master.state import LiveState
from motet.placement.planners import KnownSkewPlanner, SkewPlanner

FIRST_POLICY = "fifo"


class ReplayedCluster:
    """`state` and `engine` after the records and steps so far. `divergence`: None: no record of an
    earlier format was decided otherwise."""

    def __init__(self, cluster: ClusterDeclared) -> None:
        """`cluster`: the first fact of the journal."""
        self.state = LiveState()
        self.divergence: Divergence | None = None
        self._entries: list[LogEntry] = []
        policy = make_policy(*find_policy(FIRST_POLICY), {})
        memory, planner = dict(policy.memory_columns), KnownSkewPlanner(SkewPlanner(SKEW_PROFILES))
        state = ClusterState(cluster.spec(), memory, {}, Queues(), SKEW_PROFILES)
        self._log, measurements = RepeatedLog(self._note), late_fitted_measurements()
        self.engine = RecordedEngine(policy, planner, state, self._log, measurements)
        self.state.history.take_waits_from(self._log.latest_wait)

    def replay(self, record: Record) -> None:
        """Apply the next record. Raises JournalDamaged."""
        try:
            actions = actions_of(record.actions)
            self._fold_facts(record)
            if record.decision is None:
                self._decide_again(record, actions)
            else:
                decision = decision_of(record.decision, record.at_us, actions)
                self._fold(record, decision, actions)
        except MotetError:
            raise
        except Exception as error:  # Damaged events and facts lead to errors of many types.
            raise JournalDamaged(f"record {record.sequence} of the journal", repr(error)) from error

    def step(self, now_us: int, events: Sequence[Event]) -> list[Action]:
        """One step of the engine, and what its actions mean for the jobs."""
        self._entries = []
        actions = self.engine.step(now_us, events, may_ask=self._may_ask)
        self._acted(now_us, actions)
        return actions

    def rest_of_step(self, now_us: int) -> list[Action]:
        """What remains of a `step` in which the policy failed, with this fact folded."""
        effects, entries = self.engine.effects, self._entries
        actions = self.step(now_us, [])
        self.engine.effects, self._entries = effects, [*entries, *self._entries]
        return actions

    def consider(self) -> None:
        """Ask the policy in force why jobs wait, after records; nothing else changes."""
        with suppress(Exception):  # A policy's file raises anything; the next step tells it.
            considered = self.engine.considered()
            self._log.considered(considered.snapshot, considered.decision)

    @property
    def _may_ask(self) -> bool:
        return not self.state.policy_failure

    @property
    def decision(self) -> RecordedDecision:
        """What the last `step` has decided, for its record."""
        return RecordedDecision(self.engine.effects, self._entries)

    def decided(self, record: Record) -> list[Action]:
        """What is decided now with the input of the next record, which is applied."""
        self._fold_facts(record)
        return self.step(record.at_us, events_of(record))

    def _fold_facts(self, record: Record) -> None:
        for fact in facts_from_json(record.facts):
            self.state.fold(record.at_us, fact)

    def _fold(self, record: Record, decision: RecordedDecision, actions: Sequence[Action]) -> None:
        now_us, events, effects = record.at_us, events_of(record), decision.effects
        self.engine.fold(now_us, events, effects, actions, may_ask=self._may_ask)
        state = self.engine.state
        has_decided = effects is not None and not effects.has_failed
        snapshot = state.snapshot() if has_decided else None
        codes = state.table.column("wait_code")
        changes = () if effects is None else effects.actions
        self._log.repeat(now_us, events, snapshot, codes, changes, decision.entries)
        self._acted(now_us, actions)

    def _decide_again(self, record: Record, actions: Sequence[Action]) -> None:
        is_same = self.engine.decide_again(
            record.at_us, events_of(record), actions, may_ask=self._may_ask
        )
        self._acted(record.at_us, actions)
        if not is_same:
            found = self.divergence or Divergence(record.sequence, record.software, 0)
            self.divergence = Divergence(found.record, found.software, found.count + 1)

    def _acted(self, now_us: int, actions: Sequence[Action]) -> None:
        for action in actions:
            partners = self.engine.state.sharing.others(action.job)
            self.state.acted(now_us, action, partners)

    def _note(self, entry: LogEntry) -> None:
        self._entries.append(entry)
        self.state.history.add(entry)


def declared_by(first: Record) -> ClusterDeclared:
    """The cluster of a journal's first record. Raises BadInput."""
    for fact in facts_from_json(first.facts)[:1]:
        if isinstance(fact, ClusterDeclared):
            return fact
    raise BadInput("the first record of the journal does not declare a cluster")


def events_of(record: Record) -> list[Event]:
    """The events that the engine got. Raises BadInput."""
    return [event_from_json(each) for each in json.loads(record.events)]
