"""Allocation of slots: the changes of a decision become placements and actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.engine.actions.checks import DecisionProblem
from motet.engine.actions.diff import SlotChange
from motet.engine.actions.fitting import Overcommitted
from motet.engine.actions.requests import Requests
from motet.engine.state.cluster_state import ClusterState
from motet.placement.planner import Planner


class Slots:
    """Releases and allocates slots in the state, and creates the corresponding requests."""

    def __init__(self, state: ClusterState, planner: Planner, requests: Requests) -> None:
        self._state, self._planner, self._requests = state, planner, requests

    def carry_out(
        self,
        changes: Sequence[SlotChange],
        decision: Decision,
        snapshot: Snapshot,
        partners: Mapping[int, Sequence[int]],
    ) -> list[Action]:
        """Release GPUs first, then allocate them in the policy's order; preemptions come first.

        Raises Overcommitted if the policy named a place that is not free.
        """
        if not changes:
            return []
        roles_before = self._roles_before(changes)
        for change in changes:
            if change.held:
                self.vacate(change.number)
        actions: list[Action] = [self._preempted(c.number) for c in changes if not c.wanted]
        for change in changes:
            if change.wanted:
                others = partners.get(change.number, ())
                place = self._place(change, self._host(others), decision, snapshot)
                kind = Migrate if change.held else Start
                is_async = decision.asynchronous
                overlaps = is_async is not None and bool(is_async[change.row])
                action = kind(change.number, place, change.workers, change.servers, overlaps)
                self._begin(action, others, roles_before)
                actions.append(action)
        return actions

    def repeat(self, actions: Sequence[Action], partners: Mapping[int, Sequence[int]]) -> None:
        """Carry out the actions that followed from a decision, in their order, as `carry_out` did.

        `partners`: by job that starts, the jobs with which it shares GPUs.
        """
        table, jobs = self._state.table, self._state.jobs
        held = [each.job for each in actions if each.job in self._state.placements]
        rows = {job: table.row_of(job) for job in held}
        roles_before = {
            job: (int(jobs.held_workers[row]), int(jobs.held_servers[row]))
            for job, row in rows.items()
        }
        for job in held:
            self.vacate(job)
        for action in actions:
            if isinstance(action, Preempt):
                self._preempted(action.job)
            else:
                self._begin(action, partners.get(action.job, ()), roles_before)

    def _begin(
        self,
        action: Start | Migrate,
        others: Sequence[int],
        roles_before: Mapping[int, tuple[int, int]],
    ) -> None:
        """A job gets its slots. `roles_before`: of jobs that held slots."""
        job, place, workers, servers, is_asynchronous = action
        before = roles_before.get(job)
        host = self._host(others)
        self._state.started(job, place, workers, servers, host, runs=before is not None)
        row = self._state.table.row_of(job)
        self._state.jobs.is_asynchronous[row] = is_asynchronous
        self._requests.start(action, others)
        if before is not None:
            self._count("migrations" if before == (workers, servers) else "rescales", job)

    def _host(self, others: Sequence[int]) -> int:
        for other in others:
            if other in self._state.placements:
                return other
        return UNKNOWN

    def vacate(self, number: int) -> None:
        """Release all slots of a job, after reporting its speed on them to the planner."""
        self.observe(number)
        self._state.vacated(number)

    def observe(self, number: int) -> None:
        """Report the speed of a job on its present slots to the planner.

        Jobs that share their GPUs, or hold another number than they request, are skipped: their
        rate does not depend on the placement alone.
        """
        if not self._planner.learns or number not in self._state.placements:
            return
        jobs, row = self._state.jobs, self._state.table.row_of(number)
        is_full = jobs.held_gpus[row] == jobs.gpus[row]
        if jobs.partner[row] == UNKNOWN and is_full:
            place = self._state.placements[number]
            self._planner.observe(int(jobs.model[row]), place, int(jobs.rate[row]))

    def _roles_before(self, changes: Sequence[SlotChange]) -> dict[int, tuple[int, int]]:
        jobs = self._state.jobs
        return {
            change.number: (int(jobs.held_workers[change.row]), int(jobs.held_servers[change.row]))
            for change in changes
            if change.held and change.wanted
        }

    def _preempted(self, number: int) -> Preempt:
        self._requests.stop(number)
        self._count("preemptions", number)
        table = self._state.table
        table.column("preempted_us")[table.row_of(number)] = self._state.now_us
        return Preempt(number)

    def _count(self, column: str, number: int) -> None:
        table = self._state.table
        table.column(column)[table.row_of(number)] += 1

    def _place(
        self, change: SlotChange, host: int, decision: Decision, snapshot: Snapshot
    ) -> Placement:
        if host != UNKNOWN:
            return self._state.placements[host]
        if change.kept is not None:
            return change.kept
        chosen = decision.places.get(change.row)
        if chosen is not None:
            self._check_is_free(chosen, change.row)
            return chosen
        model = int(snapshot.jobs.model[change.row])
        return self._planner.place(self._state.usable_gpus, change.wanted, model)

    def _check_is_free(self, place: Placement, row: int) -> None:
        usable = self._state.usable_gpus
        for machine, count in zip(*place, strict=True):
            free = int(usable[machine])
            if count > free:
                text = f"places: {count} GPUs on machine {machine}, which has {free} free"
                raise Overcommitted(DecisionProblem(text, row))
