"""Aggregator clusters: independent pools, each with a controller of its own; a job is in one.

A new job goes to the cluster with sufficient but the least free CPU (or, where that is scarcer, the
least idle links). New Aggregators are allocated and tensors moved once in a period, and at once
only when waiting jobs need many new Aggregators. Source: the seed's sections 4.3.3.4 and 4.3.3.5.
It does not say how the number of clusters follows the load: here clusters are cut anew in each
period along the borders between jobs that share no Aggregator, directly or through others. That
moves no tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from motet.aggregation.planner.assignment import assign
from motet.aggregation.planner.consolidation import consolidated_pool
from motet.aggregation.planner.expansion import with_one_more
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.planner.scaling import pool_after_arrival, released
from motet.aggregation.rule_defaults import CLUSTER_SIZE, LOSS_LIMIT, ON_DEMAND
from motet.domain.arrays import Floats, Ints


@dataclass(frozen=True)
class ScalingRules:
    """`most_aggregators`: of all clusters. `cluster_size`: Aggregators that a cluster is filled to;
    jobs that share Aggregators stay together even if they have more. `on_demand`: new Aggregators
    that waiting jobs may need before they are allocated at once; 0: always at once.
    """

    most_aggregators: int
    cluster_size: int = CLUSTER_SIZE
    on_demand: int = ON_DEMAND
    loss_limit: float = LOSS_LIMIT


@dataclass(frozen=True, eq=False)
class ClusteredPool:
    """All clusters, in any order. `waiting`: admitted jobs that still run on the Aggregators of
    their measurement, by number, the first to arrive first.
    """

    rules: ScalingRules
    clusters: tuple[AggregatorPool, ...] = ()
    waiting: Mapping[int, AggregationProfile] = field(default_factory=lambda: MappingProxyType({}))
    next_number: int = 0

    @property
    def aggregators(self) -> int:
        """How many Aggregators all clusters have."""
        return sum(len(cluster.aggregators) for cluster in self.clusters)

    def may_admit(self, profile: AggregationProfile) -> bool:
        """Whether there is room for the Aggregators that the job needs in the worst case: as many
        as alone (section 4.3.3.5). Waiting jobs still use theirs.
        """
        temporary = sum(job.servers for job in self.waiting.values())
        used = self.aggregators + temporary
        return used + profile.servers <= self.rules.most_aggregators

    def after_arrival(self, number: int, profile: AggregationProfile) -> ClusteredPool:
        """With an admitted job: placed, or waiting for the next period."""
        placed = self._placed_without_new(number, profile)
        if placed is not None:
            return placed
        waits = replace(self, waiting=MappingProxyType({**self.waiting, number: profile}))
        return waits._with_waiting_placed() if waits._new_needed() > self.rules.on_demand else waits

    def after_exit(self, number: int) -> ClusteredPool:
        """After the end of a job; Aggregators that became empty are released."""
        if number in self.waiting:
            left = {other: job for other, job in self.waiting.items() if other != number}
            return replace(self, waiting=MappingProxyType(left))
        return self._with_clusters(
            released(cluster.without_job(number)) if number in cluster.jobs else cluster
            for cluster in self.clusters
        )

    def after_period(self) -> ClusteredPool:
        """At the end of a period: waiting jobs placed, Aggregators consolidated, clusters cut."""
        placed = self._with_waiting_placed()
        limit = self.rules.loss_limit
        joined = placed._with_clusters(consolidated_pool(each, limit) for each in placed.clusters)
        return joined._with_clusters(_cut(joined.clusters, self.rules.cluster_size))

    def cluster_of(self, number: int) -> AggregatorPool | None:
        """The cluster that holds a job; None: it waits, or is not in the pool."""
        return next((each for each in self.clusters if number in each.jobs), None)

    def has_room(self, number: int) -> bool:
        """Whether no Aggregator of a placed job's cluster is overloaded, and no job there loses its
        limit of speed or more.
        """
        cluster = self.cluster_of(number)
        assert cluster is not None, f"job {number} is placed"
        return _has_room(cluster, self.rules.loss_limit)

    def with_spread(self, number: int, added: Ints) -> ClusteredPool:
        """With one more Aggregator for a placed job that measured a loss (see `with_one_more`)."""
        limit = self.rules.loss_limit
        return self._with_changed(
            number, lambda each: with_one_more(each, number, added, loss_limit=limit)
        )

    def with_profile(self, number: int, profile: AggregationProfile) -> ClusteredPool:
        """With another profile of a placed job, which is placed anew if it does not fit now."""
        cluster = self.cluster_of(number)
        assert cluster is not None, f"job {number} is placed"
        changed = cluster.with_job(number, profile, cluster.jobs[number].homes)
        if _has_room(changed, self.rules.loss_limit):
            return self._with_changed(number, lambda _: changed)
        return self.after_exit(number).after_arrival(number, profile)

    def _with_changed(
        self, number: int, change: Callable[[AggregatorPool], AggregatorPool]
    ) -> ClusteredPool:
        """With the cluster of a placed job changed, and without Aggregators that became empty."""
        position = next(n for n, each in enumerate(self.clusters) if number in each.jobs)
        cluster = self.clusters[position]
        free = replace(cluster, next_number=max(self.next_number, cluster.next_number))
        return self._with_clusters(_replaced(self.clusters, position, released(change(free))))

    def _with_clusters(self, clusters: Iterable[AggregatorPool]) -> ClusteredPool:
        kept = tuple(cluster for cluster in clusters if len(cluster.aggregators))
        newest = max((cluster.next_number for cluster in kept), default=0)
        return replace(self, clusters=kept, next_number=max(self.next_number, newest))

    def _placed_without_new(self, number: int, profile: AggregationProfile) -> ClusteredPool | None:
        """In the best-fitting cluster that takes all of the job's tensors as it is."""
        for position in self._by_fit(profile):
            grown = pool_after_arrival(
                self.clusters[position],
                number,
                profile,
                loss_limit=self.rules.loss_limit,
                most_new=0,
                repacked_jobs=0,
            )
            if grown is not None:
                return self._with_clusters(_replaced(self.clusters, position, grown))
        return None

    def _by_fit(self, profile: AggregationProfile) -> list[int]:
        """Positions of clusters with sufficient free CPUs and links, the fullest one first."""
        needed = profile.needs_ns.sum(axis=1) / profile.iteration_ns
        free = [_free_shares(cluster, self.rules.loss_limit) for cluster in self.clusters]
        enough = [position for position, shares in enumerate(free) if (shares >= needed).all()]
        return sorted(enough, key=lambda position: (free[position].min(), position))

    def _new_needed(self) -> int:
        """New Aggregators that the waiting jobs need, each counted alone."""
        return sum(self._growing(profile)[2] for profile in self.waiting.values())

    def _growing(self, profile: AggregationProfile) -> tuple[int, AggregatorPool, int]:
        """The cluster in which the job needs the fewest new Aggregators, and how many.

        Its position, or the number of clusters for a new one. Full clusters get no new Aggregator.
        """
        options = []
        for position, cluster in enumerate((*self.clusters, AggregatorPool())):
            found = assign(cluster, profile, loss_limit=self.rules.loss_limit)
            assert found is not None, "any number of new Aggregators is allowed"
            if found.new == 0 or len(cluster.aggregators) < self.rules.cluster_size:
                options.append((found.new, position))
        new, position = min(options)
        return position, (*self.clusters, AggregatorPool())[position], new

    def _with_waiting_placed(self) -> ClusteredPool:
        pool = self
        for number, profile in self.waiting.items():
            position, cluster, _ = pool._growing(profile)
            free = replace(cluster, next_number=max(pool.next_number, cluster.next_number))
            grown = pool_after_arrival(free, number, profile, loss_limit=self.rules.loss_limit)
            assert grown is not None, "any number of new Aggregators is allowed"
            pool = pool._with_clusters(_replaced(pool.clusters, position, grown))
        return replace(pool, waiting=MappingProxyType({}))


def _has_room(pool: AggregatorPool, loss_limit: float) -> bool:
    """Whether no Aggregator is overloaded and no job loses its limit or more."""
    state = pool.cycles(loss_limit)
    return bool(state.is_within.all() and (state.least_free_ns >= 0).all())


def _free_shares(pool: AggregatorPool, loss_limit: float) -> Floats:
    """CPUs and links without work: the free shares of all cycles together."""
    state = pool.cycles(loss_limit)
    shares: Floats = (state.room_ns / state.cycle_ns).sum(axis=1)
    return shares


def _replaced(
    clusters: tuple[AggregatorPool, ...], position: int, cluster: AggregatorPool
) -> tuple[AggregatorPool, ...]:
    """With one cluster changed, or added behind the others."""
    return (*clusters[:position], cluster, *clusters[position + 1 :])


def _cut(clusters: tuple[AggregatorPool, ...], size: int) -> list[AggregatorPool]:
    """The same Aggregators and jobs in as few clusters of this size as first fit finds."""
    parts = [part for cluster in clusters for part in _independent(cluster)]
    parts.sort(key=lambda part: (-len(part.aggregators), int(part.aggregators[0])))
    made: list[AggregatorPool] = []
    for part in parts:
        room = (n for n, other in enumerate(made) if _size(other) + _size(part) <= size)
        position = next(room, len(made))
        if position == len(made):
            made.append(part)
        else:
            made[position] = _joined(made[position], part)
    return made


def _size(pool: AggregatorPool) -> int:
    return len(pool.aggregators)


def _joined(one: AggregatorPool, other: AggregatorPool) -> AggregatorPool:
    numbers = np.concatenate([one.aggregators, other.aggregators])
    order = np.argsort(numbers)
    return AggregatorPool(
        numbers[order],
        MappingProxyType({**one.jobs, **other.jobs}),
        max(one.next_number, other.next_number),
        np.concatenate([one.kept_ns, other.kept_ns])[order],
    )


def _independent(pool: AggregatorPool) -> list[AggregatorPool]:
    """The parts of a pool whose jobs share no Aggregator."""
    aggregators = len(pool.aggregators)
    rows = [(row, job) for row, job in enumerate(pool.jobs.values(), aggregators)]
    ends = [(row, place) for row, job in rows for place in pool.positions(job.work[0])]
    pairs = np.array(ends).reshape(-1, 2)
    nodes = aggregators + len(pool.jobs)
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(nodes, nodes))
    count, part = connected_components(links, directed=False)
    jobs_part = dict(zip(pool.jobs, part[aggregators:], strict=True))
    return [
        AggregatorPool(
            pool.aggregators[part[:aggregators] == which],
            MappingProxyType({n: job for n, job in pool.jobs.items() if jobs_part[n] == which}),
            pool.next_number,
            pool.kept_ns[part[:aggregators] == which],
        )
        for which in range(count)
    ]
