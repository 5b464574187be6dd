"""An engine whose steps are recorded, and repeated from the records without asking a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from motet.domain.actions import Action
from motet.domain.decision import Decision
from motet.domain.errors import MotetError
from motet.domain.events import Event, PolicyChanged
from motet.domain.policy import Policy
from motet.domain.units import NEVER_US
from motet.engine.effects import ColumnsBefore, DecisionEffects, DeclaredPolicy
from motet.engine.folding import Folding, are_same
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.ports import Journal
from motet.engine.savepoint import Savepoint
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import CheckedDecision, Engine
from motet.placement.planner import Planner


class RecordedEngine(Engine):
    """`effects`: of the decision of the last step; None if it made none.

    A policy that was in force only in folded steps is never loaded; the one that is in force is
    loaded when it is to decide.
    """

    def __init__(
        self,
        policy: Policy,
        planner: Planner,
        state: ClusterState,
        journal: Journal,
        measurements: Measurements,
    ) -> None:
        """See Engine."""
        super().__init__(
            policy, planner, state, journal, measurements=measurements, checks_places=True
        )
        self.effects: DecisionEffects | None = None
        self._folding = Folding(self.state, self._slots, self._requests)
        self._unloaded: PolicyChanged | None = None
        self._is_adopted, self._is_lost = True, False
        self._declared: DeclaredPolicy | None = None

    @property
    def policy(self) -> Policy:
        """The policy in force. Raises BadInput, UnknownName if it cannot be loaded."""
        if self._unloaded is not None:
            self._policy, self._limits = self._made(self._unloaded)
            self._unloaded = None
        if not self._is_adopted:
            self._adopt(DeclaredPolicy.of(self._policy))
            self._is_adopted = True
        return self._policy

    def fold(
        self,
        now_us: int,
        events: Sequence[Event],
        effects: DecisionEffects | None,
        actions: Sequence[Action],
        *,
        may_ask: bool = True,
    ) -> None:
        """Repeat a recorded step; no policy is asked, and the engine's journal gets no entry.

        `effects`: of its decision; None: it made none. `actions`: those that it returned.
        `may_ask`: as in `step`; False also if the policy failed in this step. Raises BadInput for
        an invalid event, KeyError for a job that is not active.
        """
        declared = self._declared if effects is None else effects.declared or self._declared
        columns = {} if declared is None else declared.memory_columns
        self._folded(now_us, events, lambda event: self._choose(event, columns))
        if effects is not None and declared is not None:
            if effects.declared is not None:
                self._adopt(effects.declared)
                self._is_adopted = False
            self._folding.repeat(
                effects, self._measurements, has_estimates=declared.wants_estimates
            )
            self.recheck_at_us = effects.recheck_at_us
        self._declared = declared
        if self._requests.expects(actions):
            self._requests.issue(actions)
        else:  # Another version folds events otherwise; what it did has happened.
            self._folding.force(actions)
            self.recheck_at_us = now_us
        if not may_ask:
            self.recheck_at_us = NEVER_US

    def decide_again(
        self,
        now_us: int,
        events: Sequence[Event],
        recorded: Sequence[Action],
        *,
        may_ask: bool = True,
    ) -> bool:
        """Repeat a step of which only the returned actions were recorded: decide, and take the
        recorded actions as true. Returns whether they are those of the present decision.

        The policy's memory is then what the policy gives now; without the policy it stays. Raises
        as `fold` does.
        """
        if self._journal is not None:
            self._journal.received(now_us, events)
        is_due = self._folded(now_us, events, self._try_change) and may_ask
        self._declared = None
        wanted: CheckedDecision | None = None
        if is_due and not self._is_lost:
            with suppress(Exception):  # A policy file raises anything; it had decided nevertheless.
                wanted = self._checked()
                self.state.remember(wanted.decision.memory)
        is_same = self._repeated(recorded, wanted, is_due=is_due)
        if not may_ask:
            self.recheck_at_us = NEVER_US
        return is_same

    def _repeated(
        self, recorded: Sequence[Action], wanted: CheckedDecision | None, *, is_due: bool
    ) -> bool:
        """Carry out a decision, or take the recorded actions as true; returns as `decide_again`."""
        if not (is_due or recorded) and self._requests.are_settled:
            return True
        before = Savepoint(self.state, self._requests)
        if (wanted is not None or not is_due) and self._leads_to(recorded, wanted):
            return True
        before.restore()
        self._take_as_true(recorded, None if wanted is None else wanted.decision)
        return False

    def _leads_to(self, recorded: Sequence[Action], wanted: CheckedDecision | None) -> bool:
        """Carry out a decision; returns whether the actions are the recorded ones."""
        with suppress(MotetError, RuntimeError):  # Another state than that of the decision.
            if wanted is not None:
                self._carry_out(wanted)
            if are_same(self._requests.take(), recorded):
                if wanted is not None:
                    self._tell(wanted.snapshot)
                return True
        return False

    def _take_as_true(self, recorded: Sequence[Action], wanted: Decision | None) -> None:
        self._folding.force(recorded)
        self.decision = self._folding.forced_decision(wanted)
        self.changes = tuple(recorded)
        self.recheck_at_us = self.state.now_us if wanted is None else wanted.recheck_at_us
        self._tell(self.state.snapshot())

    def considered(self) -> CheckedDecision:
        """What the policy in force decides now; nothing follows from it. Raises what it raises."""
        kept = self._measurements
        self._measurements = kept and kept.copy()
        try:
            return self._checked()
        finally:
            self._measurements, self.policy_error = kept, None

    # -- the decision ------------------------------------------------------------------------------

    def _decide(self) -> None:
        declared = DeclaredPolicy.of(self.policy)
        news = None if declared == self._declared else declared
        before, self._declared = ColumnsBefore(self.state), declared
        try:
            checked = self._checked()
        except Exception:
            self.effects = DecisionEffects.of_failure(news)
            raise
        self._carry_out(checked)
        self.effects = before.effects(
            tuple(self.changes), checked.partners, self.recheck_at_us, news
        )
        self._tell(checked.snapshot)

    # -- the policy in force -----------------------------------------------------------------------

    def _folded(
        self, now_us: int, events: Sequence[Event], change_policy: Callable[[PolicyChanged], None]
    ) -> bool:
        self.effects = None
        return super()._folded(now_us, events, change_policy)

    def _change_policy(self, event: PolicyChanged) -> None:
        super()._change_policy(event)
        self._unloaded, self._is_adopted = None, True

    def _choose(self, event: PolicyChanged, memory_columns: Mapping[str, int]) -> None:
        """Put a policy in force without loading it."""
        self.state.change_memory(memory_columns)
        self._unloaded, self._is_adopted = event, False

    def _try_change(self, event: PolicyChanged) -> None:
        """Put a policy in force that may be gone."""
        self._is_lost = False
        try:
            self._change_policy(event)
        except MotetError:
            self._choose(event, {})
            self._is_lost = True

    def _adopt(self, declared: DeclaredPolicy) -> None:
        """The policy in force declares this; columns that it keeps keep their values."""
        if dict(declared.memory_columns) != dict(self.state.memory_columns):
            self.state.adopt_memory(declared.memory_columns)
        if declared.wants_machine_speeds:
            self._watch_machines()
