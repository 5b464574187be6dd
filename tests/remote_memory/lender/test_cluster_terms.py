"""A lender under the terms of a live cluster: who may borrow, and what jobs have requested."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import pytest

from motet.domain.errors import AuthenticationFailed, MotetError
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.cluster_terms import ClusterTerms
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.remote_memory.wire.borrower_names import job_client, job_secret
from motet.remote_memory.wire.memory_messages import (
    BadMemoryMessage,
    EvictionDone,
    EvictSlabs,
    MapSlab,
    MemoryMessageKind,
    MrInfo,
    SlabKey,
)
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms, MemoryCommand
from motet.transport import Connection
from remote_memory_parts import MACHINE_BYTES, SECRET, SLAB_BYTES, MovableMemory
from waiting import wait_until

JOB, OTHER = "motet-1-abc.1", "motet-2-abc.1"


class ClusterLender:
    """A lender, and the server of its cluster. `used_bytes`: by processes of jobs."""

    def __init__(self, slabs: int, quota_slabs: int | None) -> None:
        self.used_bytes: dict[str, int] = {}
        limits = PoolLimits(MACHINE_BYTES, MACHINE_BYTES - slabs * SLAB_BYTES, SLAB_BYTES, slabs)
        memory = MovableMemory()
        self.lender = Lender(
            LenderSettings(limits, quota_slabs, done_within_s=60.0),
            SECRET,
            memory.free_bytes,
            ClusterTerms(SECRET, self._used_by),
        )
        memory.lender = self.lender
        self._connections = 1
        self.server = Connection(self.lender.endpoint, SECRET, client_id="server/1")

    def _used_by(self, names: Collection[str]) -> Mapping[str, int]:
        return {name: self.used_bytes[name] for name in names if name in self.used_bytes}

    def tell(self, *jobs: str, **requests: int) -> LenderView:
        terms = LendingTerms(requests, jobs)
        reply = self.server.request(MemoryCommand.USE_TERMS, terms.encode(), timeout_s=60.0)
        return LenderView.decode(reply.meta)

    def reconnect(self) -> None:
        self.server.close()
        self._connections += 1
        name = f"server/{self._connections}"
        self.server = Connection(self.lender.endpoint, SECRET, client_id=name)

    def close(self) -> None:
        self.server.close()
        self.lender.close()


@contextmanager
def cluster_lender(slabs: int = 4, quota_slabs: int | None = None) -> Iterator[ClusterLender]:
    found = ClusterLender(slabs, quota_slabs)
    try:
        yield found
    finally:
        found.close()


class Borrower:
    """A process of a job. `evicted`: slabs that it was told to leave, and has left."""

    def __init__(self, lender: Lender, job: str, suffix: str = "1") -> None:
        self.connection = Connection(
            lender.endpoint,
            job_secret(SECRET, job),
            client_id=f"{job_client(job)}/{suffix}",
            retry_for_s=0.0,
        )
        self.listening = self.connection.submit(MemoryMessageKind.LISTEN)

    def map(self) -> MrInfo:
        reply = self.connection.request(MemoryMessageKind.MAP, MapSlab(SLAB_BYTES).encode())
        return MrInfo.decode(reply.meta)

    def leaves(self) -> int:
        """Wait for EVICT and leave; how many slabs."""
        while True:
            reply = self.listening.wait(60.0)
            self.listening = self.connection.submit(MemoryMessageKind.LISTEN)
            if reply.status == MemoryMessageKind.EVICT:
                keys: tuple[SlabKey, ...] = EvictSlabs.decode(reply.meta).slabs
                done = EvictionDone(keys).encode()
                self.connection.request(MemoryMessageKind.DONE, done, timeout_s=60.0)
                return len(keys)

    def close(self) -> None:
        self.connection.close()


@contextmanager
def borrower(lender: Lender, job: str = JOB, suffix: str = "1") -> Iterator[Borrower]:
    found = Borrower(lender, job, suffix)
    try:
        yield found
    finally:
        found.close()


def test_a_job_borrows_once_the_cluster_has_named_it() -> None:
    with cluster_lender() as cluster:
        with pytest.raises(AuthenticationFailed):
            Borrower(cluster.lender, JOB)
        cluster.tell(JOB)
        with borrower(cluster.lender) as job:
            assert job.map().length == SLAB_BYTES
        with pytest.raises(AuthenticationFailed):
            Borrower(cluster.lender, OTHER)


def test_a_job_cannot_take_the_name_of_another_one() -> None:
    with cluster_lender() as cluster:
        cluster.tell(JOB, OTHER)
        with pytest.raises(AuthenticationFailed):
            Connection(
                cluster.lender.endpoint,
                job_secret(SECRET, OTHER),
                client_id=f"{job_client(JOB)}/1",
                retry_for_s=0.0,
            )


def test_a_job_cannot_tell_terms() -> None:
    with cluster_lender() as cluster:
        cluster.tell(JOB)
        terms = LendingTerms({}, (JOB, OTHER)).encode()
        with (
            borrower(cluster.lender) as job,
            pytest.raises(MotetError, match="takes no terms from this client"),
        ):
            job.connection.request(MemoryCommand.USE_TERMS, terms, timeout_s=60.0)


def test_a_job_that_has_ended_has_no_slabs_and_its_account_is_told_once_more() -> None:
    with cluster_lender() as cluster:
        cluster.tell(JOB)
        with borrower(cluster.lender) as job:
            job.map()
            wait_until(lambda: cluster.tell(JOB).borrowed_byte_s[job_client(JOB)] > 0)
            wait_until(lambda: cluster.tell().mapped_slabs == 0)
        assert job_client(JOB) not in cluster.tell().borrowed_byte_s


def test_the_account_of_a_job_that_has_ended_is_told_again_if_the_reply_was_lost() -> None:
    """Each connection has a name of its own, so another one tells of a lost reply."""
    with cluster_lender() as cluster:
        cluster.tell(JOB)
        with borrower(cluster.lender) as job:
            job.map()
            wait_until(lambda: cluster.tell(JOB).borrowed_byte_s[job_client(JOB)] > 0)
        wait_until(lambda: cluster.lender.view().mapped_slabs == 0)
        cluster.tell()
        cluster.reconnect()
        assert cluster.tell().borrowed_byte_s[job_client(JOB)] > 0
        assert job_client(JOB) not in cluster.tell().borrowed_byte_s


def test_what_a_job_has_borrowed_stays_known_while_it_may_borrow() -> None:
    with cluster_lender() as cluster:
        cluster.tell(JOB)
        with borrower(cluster.lender) as job:
            job.map()
        wait_until(lambda: cluster.tell(JOB).mapped_slabs == 0)
        assert cluster.tell(JOB).borrowed_byte_s[job_client(JOB)] > 0


def test_a_request_of_a_job_takes_free_slabs_at_once_then_those_that_are_lent() -> None:
    with cluster_lender(slabs=4) as cluster:
        cluster.tell(JOB)
        with borrower(cluster.lender) as job:
            job.map()
            job.map()
            assert cluster.lender.view().free_slabs == 2
            cluster.tell(JOB, first=2 * SLAB_BYTES)
            wait_until(lambda: cluster.lender.view().free_slabs == 0)
            assert cluster.lender.view().requested_bytes == 2 * SLAB_BYTES
            cluster.tell(JOB, first=2 * SLAB_BYTES, second=2 * SLAB_BYTES)
            assert job.leaves() == 2
            assert cluster.lender.view().evicted == 2
        cluster.tell(JOB)
        wait_until(lambda: cluster.lender.view().free_slabs == 4)


def test_a_request_that_is_used_is_not_counted_twice() -> None:
    with cluster_lender(slabs=4) as cluster:
        cluster.tell(first=SLAB_BYTES)
        wait_until(lambda: cluster.lender.view().free_slabs == 3)
        cluster.used_bytes["first"] = SLAB_BYTES
        for _ in range(100):
            cluster.lender.adjust()
        assert cluster.lender.view().requested_bytes == 0
        assert cluster.lender.view().free_slabs == 4, "the machine itself is unused in this test"


def test_the_quota_is_that_of_all_clients_of_a_job() -> None:
    with cluster_lender(slabs=4, quota_slabs=2) as cluster:
        cluster.tell(JOB, OTHER)
        with (
            borrower(cluster.lender, JOB, "1") as first,
            borrower(cluster.lender, JOB, "2") as second,
            borrower(cluster.lender, OTHER) as other,
        ):
            assert first.map().length
            assert second.map().length
            assert first.map().length == second.map().length == 0
            assert other.map().length


def test_terms_that_cannot_be_read_are_refused() -> None:
    with cluster_lender() as cluster, pytest.raises(MotetError, match="not the terms of a lender"):
        cluster.server.request(MemoryCommand.USE_TERMS, b'{"requests": 3}', timeout_s=60.0)
    assert LendingTerms.decode(LendingTerms({"a": 1}, ("x",)).encode()).requests == {"a": 1}
    with pytest.raises(BadMemoryMessage):
        LendingTerms.decode(b"[]")
