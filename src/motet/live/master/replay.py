"""Engine and state of the live cluster as a fold over the records of its journal. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from motet import __version__
from motet.domain.actions import Action
from motet.domain.errors import BadInput, MotetError
from motet.domain.events import Event, event_from_json
from motet.domain.snapshot import Queues
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.measurements.late_fitters import late_fitted_measurements
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.live.journal.record import Record
from motet.live.journal.tables import JournalDamaged
from motet.live.master.facts import ClusterDeclared, facts_from_json
from motet.live.master.state import LiveState
from motet.placement.planners import CountPlanner

FIRST_POLICY = "fifo"


class JournalDiverged(MotetError):
    """Replay of the journal led to another decision than the recorded one."""


class ReplayedCluster:
    """`state` and `engine` after the records and steps so far."""

    def __init__(self, cluster: ClusterDeclared) -> None:
        """`cluster`: the first fact of the journal."""
        self.state = LiveState()
        policy = make_policy(*find_policy(FIRST_POLICY), {})
        state = ClusterState(cluster.spec(), dict(policy.memory_columns), {}, Queues())
        log = DecisionLog(self.state.history.add)
        measurements = late_fitted_measurements()
        self.engine = Engine(
            policy, CountPlanner(), state, log, measurements=measurements, checks_places=True
        )

    def replay(self, record: Record) -> None:
        """Apply the next record. Raises JournalDamaged, JournalDiverged."""
        try:
            actions = self.decided(record)
        except MotetError:
            raise
        except Exception as error:  # Damaged events and facts lead to errors of many types.
            raise JournalDamaged(f"record {record.sequence} of the journal", repr(error)) from error
        if actions_text(actions) != record.actions:
            raise JournalDiverged(
                f"record {record.sequence} of the journal was decided by Motet {record.software}; "
                f"version {__version__} decides otherwise: start version {record.software}"
            )

    def step(self, now_us: int, events: Sequence[Event]) -> list[Action]:
        """One step of the engine, and what its actions mean for the jobs."""
        may_ask = not self.state.policy_failure
        actions = self.engine.step(now_us, events, may_ask=may_ask)
        for action in actions:
            partners = self.engine.state.sharing.others(action.job)
            self.state.acted(now_us, action, partners)
        return actions

    def decided(self, record: Record) -> list[Action]:
        """What is decided now with the input of the next record, which is applied."""
        for fact in facts_from_json(record.facts):
            self.state.fold(record.at_us, fact)
        return self.step(record.at_us, events_of(record))


def declared_by(first: Record) -> ClusterDeclared:
    """The cluster of a journal's first record. Raises BadInput."""
    for fact in facts_from_json(first.facts)[:1]:
        if isinstance(fact, ClusterDeclared):
            return fact
    raise BadInput("the first record of the journal does not declare a cluster")


def events_of(record: Record) -> list[Event]:
    """The events that the engine got. Raises BadInput."""
    return [event_from_json(each) for each in json.loads(record.events)]


def actions_text(actions: Sequence[Action]) -> str:
    """Actions as a record has them."""
    return json.dumps(
        [[type(action).__name__, *action] for action in actions], separators=(",", ":")
    )
