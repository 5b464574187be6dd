"""Themis: finish-time fairness by auctions of leased GPUs (Mahajan et al., NSDI 2020).

An experiment (the jobs of one search, or a single job) should end no later than on its own cluster
of 1/N of the size: rho = T_shared / T_ideal. When the leases have ended, the 1 - f of all
experiments with the largest rho bid for all GPUs; hidden payments shorten the leases of winners,
and the remaining GPUs go to the other experiments.

Departures: leases end together, otherwise a gang would rarely find enough free GPUs at once;
between auctions a lottery assigns the GPUs that experiments return. Rigid jobs are gangs on their
full request; elastic jobs run on what they get (as the paper's jobs, in units of tasks), in whole
workers with their servers. Bids consider machines and racks, but not GPU types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from motet.allocation.auction import legacy
from motet.allocation.auction.bids import BiddingExperiment, bids_of
from motet.allocation.auction.distance import Distance
from motet.allocation.auction.division import JobSpeeds, LinePiece, Slowdowns, Stretches, pieces
from motet.allocation.auction.floor import Floor
from motet.allocation.auction.leases import kept_us
from motet.allocation.auction.line import Line
from motet.allocation.auction.lottery import Lottery
from motet.allocation.auction.participants import participants
from motet.allocation.auction.rounds import Award, hold_auction
from motet.allocation.auction.standings import MEMORY, Standings
from motet.domain.arrays import Floats, Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.errors import BadInput
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import Snapshot
from motet.domain.units import NEVER_US, SECOND_US, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.estimate.finish_time import speeds_on_share

_OWN_MEMORY = {
    "lease_us": 0,
    "next_auction_us": 0,
    "is_last": 0,
    "lost_rho": 0,
    "won_rho": 0,
    **legacy.MEMORY,
}
_SHORTEST_LEASE_US = SECOND_US
_RESTORES_IN_A_LEASE = 4
"""Lower bound: a winner can keep as little as 1 / e of a lease and must train in that time."""
_MOST_RHO = 1e12
_GAVE_BACK = -1


@dataclass(frozen=True)
class Themis(Policy):
    """`fairness`: f, 0 (all bid) to 1 (only the experiment with the largest rho). `lease_s`: lease
    before payments; longer where restores of stopped jobs would consume most of it. `waiting`:
    value of losing to a bidder: its share one lease later, or nothing (Themis; payments are larger,
    and truthful bids are always optimal). `lots`: which experiments can draw remaining GPUs: all
    alike, or first the outsiders, which did not bid (Themis). `leftovers`: GPUs near those that the
    job held before, or drawn from anywhere (Themis). `rescale_s`: cost of changing an elastic job's
    numbers of workers and servers; the job takes remaining GPUs only if that pays. `seed`: of the
    lottery; in simulations, that of the run unless set.
    """

    fairness: float = 0.8
    lease_s: float = 600.0
    waiting: Literal["share", "nothing"] = "share"
    lots: Literal["everybody", "outsiders"] = "everybody"
    leftovers: Literal["near", "anywhere"] = "near"
    rescale_s: float = 10.0
    seed: int = 0

    memory_columns: ClassVar[dict[str, int]] = {**MEMORY, **_OWN_MEMORY}
    knows_durations: ClassVar[bool] = True
    wants_estimates: ClassVar[bool] = True
    may_overtake: ClassVar[bool] = True
    useful_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.DURATION: "the time that a job ran in the log counts as all that it needs",
    }

    def __post_init__(self) -> None:
        if not 0 <= self.fairness <= 1:
            raise BadInput(f"fairness={self.fairness}: give 0 (all bid) to 1 (only the worst)")
        check_seconds("lease_s", self.lease_s, 1)
        check_seconds("rescale_s", self.rescale_s)
        if self.seed < 0:
            raise BadInput(f"seed={self.seed}: give a whole number, at least 0")

    def decide(self, snapshot: Snapshot) -> Decision:
        """Hold an auction if leases have ended and jobs wait; otherwise hand out free GPUs."""
        decision_round = _DecisionRound(self, snapshot)
        if decision_round.is_auction:
            decision_round.hold_auction()
        else:
            decision_round.hand_on()
        decision_round.hand_out_leftovers()
        return decision_round.decision()

    @cached_property
    def lease_us(self) -> int:
        """Lease length in microseconds."""
        return microseconds(self.lease_s)


class _DecisionRound:
    """The state of one decision."""

    def __init__(self, policy: Themis, snapshot: Snapshot) -> None:
        self._policy, self._snapshot = policy, snapshot
        self._standings = Standings.of_snapshot(snapshot)
        self._memory = {name: snapshot.memory[name].copy() for name in _OWN_MEMORY}
        jobs, now_us = snapshot.jobs, snapshot.now_us
        self._lease_us = max(policy.lease_us, _RESTORES_IN_A_LEASE * _longest_restore_us(snapshot))
        due_us = int(self._memory["next_auction_us"].max(initial=0))
        self._legacies = legacy.legacies(
            self._standings.of, self._memory["lease_us"], self._memory, due_us
        )
        runs, is_due = jobs.held_gpus > 0, now_us >= due_us
        wanted = int(np.maximum(self._standings.widths.most - jobs.held_gpus, 0).sum())
        has_gpus = snapshot.gpu_count > 0
        self.is_auction = is_due and has_gpus and wanted > int(snapshot.free_gpus.sum())
        if is_due:
            due_us = now_us + self._lease_us
            if not self.is_auction:  # No job can use more GPUs: extend all leases.
                self._memory["lease_us"][runs] = due_us
        self._due_us = due_us
        lease_us = self._memory["lease_us"]
        self._floor = Floor(snapshot, runs & (lease_us > now_us), lease_us)
        # The seed depends on the time, so that a decision can be repeated.
        lots = partial(np.random.default_rng, [policy.seed, now_us % NEVER_US])
        is_near = policy.leftovers == "near"
        self._lottery = Lottery(snapshot, self._standings, self._floor, lots, is_near=is_near)

    # -- the auction -------------------------------------------------------------------------------

    def hold_auction(self) -> None:
        """Sell GPUs to the experiments with the largest rho; record what the losers would have
        taken.
        """
        share_gpus = self._snapshot.gpu_count / self._standings.count
        ideal_s = self._standings.ideal_s(share_gpus)
        rho = self._standings.rho_by_share(share_gpus, self._lease_us / SECOND_US, ideal_s)
        bidders = participants(rho, self._policy.fairness)
        rows = [self._standings.rows_of(each).tolist() for each in bidders.tolist()]
        agents = self._agents(bidders, rows, share_gpus, ideal_s[bidders])
        most = min(max(agent.most for agent in agents), self._snapshot.gpu_count)
        line = Line.of(self._floor.free, most, self._snapshot.cluster.rack)
        distance = Distance(self._snapshot, line, most)
        slowdowns = Slowdowns.of_each([distance.of_row(jobs[0]) for jobs in rows])
        work = JobSpeeds.of([agent.waiting for agent in agents], line.reach)
        bids = bids_of(agents, work, line, slowdowns, self._waiting_rhos(agents, share_gpus))
        awards = hold_auction(line, bids).awards
        columns = ([award.bidder, award.start, award.gpus] for award in awards)
        won = Stretches(*np.array([*columns], dtype=np.int64).reshape(-1, 3).T.copy())
        for award, taken in zip(awards, pieces(work, line, slowdowns, won), strict=True):
            self._grant(award, rows[award.bidder], taken, line)
        self._floor.settle()
        winners = [award.bidder for award in awards] or slice(None)
        is_inside = np.isin(self._standings.of, bidders)
        self._memory["is_last"][:] = is_inside & (self._policy.lots == "outsiders")
        self._memory["lost_rho"][:] = _milli(rho)[self._standings.of]
        self._memory["won_rho"][:] = _milli(rho)[bidders[winners]].min()

    def _agents(
        self, bidders: Ints, rows: Sequence[Sequence[int]], share_gpus: float, ideal_s: Floats
    ) -> list[BiddingExperiment]:
        elapsed_s = self._standings.elapsed_s()[bidders].tolist()
        work_of = self._standings.work_of
        return [
            BiddingExperiment(tuple(work_of(row, share_gpus) for row in jobs), elapsed, ideal)
            for jobs, elapsed, ideal in zip(rows, elapsed_s, ideal_s.tolist(), strict=True)
        ]

    def _waiting_rhos(
        self, agents: Sequence[BiddingExperiment], share_gpus: float
    ) -> Sequence[float]:
        if self._policy.waiting == "nothing":
            return [math.inf] * len(agents)
        speeds = speeds_on_share([agent.waiting for agent in agents], share_gpus)
        wait_s = self._lease_us / SECOND_US
        return [agent.rho(speed, wait_s) for agent, speed in zip(agents, speeds, strict=True)]

    def _grant(
        self, award: Award, rows: Sequence[int], taken: Sequence[LinePiece], line: Line
    ) -> None:
        """Lease the award's GPUs to the winner's jobs, for the fraction of the lease
        that it keeps.
        """
        lease_us = kept_us(award, self._lease_us)
        if lease_us < _SHORTEST_LEASE_US:
            return
        for row, (start, gpus) in zip(rows, taken, strict=True):
            if gpus:
                until_us = self._snapshot.now_us + lease_us
                self._floor.grant(row, line.placement(start, gpus), until_us)

    # -- what is left ------------------------------------------------------------------------------

    def hand_on(self) -> None:
        """Lease the GPUs of ended jobs to other jobs of the same experiment until the
        lease ends.
        """
        for each in (self._legacies[0] > 0).nonzero()[0].tolist():
            gpus, until_us = (int(column[each]) for column in self._legacies)
            if until_us > self._snapshot.now_us:
                self._lottery.hand_on(self._standings.rows_of(each), gpus, until_us)

    def hand_out_leftovers(self) -> None:
        """Draw jobs for remaining GPUs until no job fits; then widen elastic jobs."""
        for is_last in (0, 1):
            if self._floor.free_gpus:
                waits = (self._floor.gpus == 0) & (self._memory["is_last"] == is_last)
                self._lottery.hand_out(waits.nonzero()[0], self._due_us)
        self._lottery.widen(microseconds(self._policy.rescale_s))

    # -- the whole decision ------------------------------------------------------------------------

    def decision(self) -> Decision:
        """The decision, with a reason for every waiting job."""
        floor, now_us = self._floor, self._snapshot.now_us
        gpus, lost = floor.gpus, self._memory["lost_rho"]
        runs = gpus > 0
        won = self._memory["won_rho"]
        won[(self._snapshot.jobs.held_gpus > 0) & ~runs & (won == 0)] = _GAVE_BACK
        lost[runs] = won[runs] = 0
        self._memory["lease_us"] = floor.lease_us
        self._memory["next_auction_us"][:] = self._due_us
        self._memory |= legacy.remembered(self._standings.of, gpus, floor.lease_us, self._due_us)
        memory = {**self._standings.memory, **self._memory}
        recheck_us = NEVER_US
        if (gpus < self._standings.widths.most).any():
            ends_us = floor.lease_us[runs & (floor.lease_us > now_us)]
            recheck_us = min(self._due_us, int(ends_us.min(initial=NEVER_US)))
        # Bids consider GPUs only; with CPU or memory limits the planner chooses the machines.
        places = floor.moves if self._snapshot.free_cpus is None else {}
        workers, servers = self._roles()
        return Decision(
            gpus,
            self._reasons(runs),
            places,
            workers,
            servers,
            recheck_at_us=recheck_us,
            memory=memory,
        )

    def _roles(self) -> tuple[Ints, Ints]:
        """Workers and servers by row; a job that keeps its placement keeps its numbers."""
        jobs, widths = self._snapshot.jobs, self._standings.widths
        workers, servers = jobs.held_workers.copy(), jobs.held_servers.copy()
        for row in ((self._floor.gpus > 0) & ~self._floor.stays).nonzero()[0].tolist():
            entry = widths.entry(row, self._floor.held(row))
            workers[row], servers[row] = widths.workers[entry], widths.servers[entry]
        return workers, servers

    def _reasons(self, runs: NDArray[np.bool_]) -> Reasons:
        jobs, memory = self._snapshot.jobs, self._memory
        position = np.zeros(len(runs), dtype=np.int64)
        position[self._floor.granted] = np.arange(len(self._floor.granted))
        waiting = (~runs).nonzero()[0]
        order = waiting[np.lexsort((jobs.number[waiting], -memory["lost_rho"][waiting]))]
        position[order] = np.arange(len(self._floor.granted), len(runs))
        won = memory["won_rho"]
        code = np.where(won > 0, int(Wait.OUTBID), int(Wait.TOO_FEW_GPUS))
        code[won == _GAVE_BACK] = Wait.LEASE_OVER
        code[runs] = Wait.RUNS
        free = np.full_like(position, self._floor.free_gpus)
        return Reasons(code, free, position, memory["lost_rho"] / 1000, won / 1000)


def _longest_restore_us(snapshot: Snapshot) -> int:
    """The longest restore at the last start of any job."""
    jobs = snapshot.jobs
    is_restored = (jobs.last_start_us > jobs.first_start_us) & (jobs.ready_us < NEVER_US)
    restores_us = (jobs.ready_us - jobs.last_start_us)[is_restored]
    return int(restores_us.max(initial=0))


def _milli(rho: Floats) -> Ints:
    """Rho in thousandths, at least 1."""
    milli = np.maximum(np.rint(np.minimum(rho, _MOST_RHO) * 1000), 1)
    whole: Ints = milli.astype(np.int64)
    return whole


POLICIES = {"themis": Themis}
