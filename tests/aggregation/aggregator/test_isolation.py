"""Jobs share an Aggregator: what one of them does wrong harms no other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from aggregation_training import AggregatorPool, RouteTable, SmallTraining, same
from link_to_cut import LinkToCut
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.tensors.tensor_slot import STEPS_AHEAD
from motet.aggregation.wire.aggregator_control import AggregatorControl
from motet.aggregation.wire.client_names import agent_name, pool_member_name
from motet.aggregation.wire.control_requests import Measure
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.aggregation.wire.worker_requests import FinishStep, PullValues, PushGradients
from motet.domain.errors import AuthenticationFailed, BadInput, JobFailed, MotetError
from motet.runtime.wire.codec import encode
from motet.runtime.wire.errors import BadMessage
from motet.transport import Connection, Endpoint, new_secret
from waiting import wait_until

TRAINING = SmallTraining(steps=6)
OTHER = 2
TOO_EARLY = STEPS_AHEAD + 2


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(1) as pool:
        yield pool


class OtherJob:
    """A second job with one tensor of four numbers, and one worker. `endpoint`: where it reaches
    the first Aggregator.
    """

    def __init__(
        self, pool: AggregatorPool, quota_bytes: int = 1 << 20, endpoint: Endpoint | None = None
    ) -> None:
        self.secret = new_secret()
        pool.open_job(OTHER, self.secret, quota_bytes)
        self.endpoint = endpoint or pool.aggregators[0].endpoint
        self.agent = NumpyAgent(RouteTable(OTHER, self.secret, [self.endpoint]), 0, 1)
        self.values = [np.zeros(4, np.float32)]

    def begin(self) -> None:
        spec = OptimizerSpec("sgd", ({"lr": 1.0},))
        self.agent.initialise([TensorSpec("t", (4,))], spec, self.values)

    def step(self) -> None:
        self.agent.push(0, np.ones(4, np.float32))
        self.agent.finish_step([{"lr": 1.0}])

    def pull(self) -> list[float]:
        self.agent.pull(0, self.values[0]).wait(60)
        return self.values[0].tolist()

    def connection(self) -> Connection:
        name = agent_name(OTHER, 0)
        return Connection(self.endpoint, self.secret, client_id=name, retry_for_s=0)


def trains_as_alone(pool: AggregatorPool, threads: ThreadPoolExecutor) -> None:
    """The first job, while the other one misbehaves."""
    values, _ = TRAINING.with_torch()
    assert all(same(own, values) for own, _ in threads.submit(TRAINING.run, pool.table).result(60))


def test_the_secret_of_one_job_opens_no_other(pool: AggregatorPool) -> None:
    other = OtherJob(pool)
    for name in (agent_name(pool.job, 0), agent_name(77, 0), pool_member_name()):
        with pytest.raises(AuthenticationFailed):
            Connection(other.endpoint, other.secret, client_id=name)


def test_an_agent_may_not_control_the_aggregator(pool: AggregatorPool) -> None:
    with OtherJob(pool).connection() as connection, pytest.raises(AuthenticationFailed):
        connection.request(AggregatorRequest.MEASURE, encode(Measure())[0])


def test_nans_of_one_job_stay_in_it(pool: AggregatorPool) -> None:
    other = OtherJob(pool)
    other.begin()
    other.agent.push(0, np.full(4, np.nan, np.float32))
    other.agent.finish_step([{"lr": 1.0}])
    with ThreadPoolExecutor(1) as threads:
        trains_as_alone(pool, threads)
    other.agent.pull(0, other.values[0]).wait(30)
    assert np.isnan(other.values[0]).all()
    other.agent.close()


@pytest.mark.parametrize(
    ("head", "payload", "text"),
    [
        (PushGradients(0, 1, (0,), (1,)).encode(), b"12345", "5 bytes of gradients for tensors"),
        (
            PushGradients(0, TOO_EARLY, (0,), (1,)).encode(),
            bytes(16),
            "is too early",
        ),
        (
            PushGradients(0, 1, (0,), (1,), ends_step=True, groups=({}, {})).encode(),
            bytes(16),
            "options of 2 parameter groups, not 1",
        ),
        (b"?", b"", "too short"),
        (PushGradients(0, 1, (0,), (1,)).encode()[:-1], bytes(16), "for 1 tensors"),
    ],
)
def test_bad_requests_are_answered_and_change_nothing(
    pool: AggregatorPool, head: bytes, payload: bytes, text: str
) -> None:
    other = OtherJob(pool)
    other.begin()
    with other.connection() as connection, pytest.raises(BadMessage, match=text):
        connection.request(AggregatorRequest.PUSH, head, [payload])
    assert pool.aggregators[0].tenant(OTHER)._held_bytes == 0
    other.agent.push(0, np.ones(4, np.float32))
    other.agent.finish_step([{"lr": 1.0}])
    other.agent.pull(0, other.values[0]).wait(30)
    assert other.values[0].tolist() == [-1, -1, -1, -1]
    other.agent.close()


def test_options_that_fail_end_their_job_alone(pool: AggregatorPool) -> None:
    other = OtherJob(pool)
    other.begin()
    other.agent.push(0, np.ones(4, np.float32))
    with other.connection() as connection:
        head = FinishStep(0, 1, (0,), (1,), True, ({"lr": None},)).encode()
        connection.request(AggregatorRequest.FINISH, head)
    other.agent.flush()
    pull = PullValues(0, 1, (0,), (0,)).encode()
    with (
        other.connection() as connection,
        pytest.raises(JobFailed, match="job 2, tensor 0, step 1: aggregation failed"),
    ):
        connection.request(AggregatorRequest.PULL, pull)
    with ThreadPoolExecutor(1) as threads:
        trains_as_alone(pool, threads)
    other.agent.close()


def job_with_a_failing_answer(pool: AggregatorPool) -> tuple[OtherJob, Tenant]:
    """What waits for the first step of its tensor fails when it is answered."""

    def fail() -> None:
        raise RuntimeError("as a test wants it")

    other = OtherJob(pool)
    other.begin()
    tenant = pool.aggregators[0].tenant(OTHER)
    with tenant.lock:
        tenant.tensors.await_versions([0], 1, fail)
    return other, tenant


def test_an_answer_that_fails_while_a_job_ends_harms_no_other(pool: AggregatorPool) -> None:
    other, _ = job_with_a_failing_answer(pool)
    other.agent.push(0, np.ones(4, np.float32))
    other.agent.flush()
    with other.connection() as connection:
        head = FinishStep(0, 1, (0,), (1,), True, ({"lr": None},)).encode()
        connection.request(AggregatorRequest.FINISH, head)
        with pytest.raises(JobFailed, match="job 2, tensor 0, step 1: aggregation failed"):
            connection.request(AggregatorRequest.PULL, PullValues(0, 1, (0,), (0,)).encode())
    with ThreadPoolExecutor(1) as threads:
        trains_as_alone(pool, threads)
    other.agent.close()


def test_an_answer_that_fails_ends_its_job_alone(pool: AggregatorPool) -> None:
    other, tenant = job_with_a_failing_answer(pool)
    other.step()
    other.agent.flush()
    wait_until(lambda: tenant.failure is not None)
    with pytest.raises(JobFailed, match="an answer failed: RuntimeError: as a test wants it"):
        other.pull()
    with ThreadPoolExecutor(1) as threads:
        trains_as_alone(pool, threads)
    other.agent.close()


def test_a_job_beyond_its_quota_is_refused(pool: AggregatorPool) -> None:
    other = OtherJob(pool, quota_bytes=31)
    with pytest.raises(JobFailed, match="need 32 bytes with the state of sgd, its quota is 31"):
        other.begin()
    other.agent.close()


def test_gradients_count_for_the_quota(pool: AggregatorPool) -> None:
    other = OtherJob(pool, quota_bytes=40)
    other.begin()
    other.agent.push(0, np.ones(4, np.float32))
    other.agent.finish_step([{"lr": 1.0}])
    with pytest.raises(JobFailed, match="job 2 needs 48 bytes"):
        other.agent.pull(0, other.values[0]).wait(30)
    other.agent.close()


def test_a_payload_beyond_the_quota_ends_its_connection_alone(pool: AggregatorPool) -> None:
    other = OtherJob(pool)
    other.begin()
    with Connection(
        other.endpoint,
        other.secret,
        client_id=agent_name(OTHER, 0),
        retry_for_s=0,
        shared_memory=False,
    ) as connection:
        head = PushGradients(0, 1, (0,), (1,)).encode()
        with pytest.raises(MotetError):
            connection.request(AggregatorRequest.PUSH, head, [np.zeros(3 << 20, np.uint8)])
    with ThreadPoolExecutor(1) as threads:
        trains_as_alone(pool, threads)
    other.agent.close()


def test_a_worker_that_dies_in_a_step_harms_no_other_job(pool: AggregatorPool) -> None:
    other = OtherJob(pool)
    other.begin()
    other.agent.push(0, np.ones(4, np.float32))
    other.agent.flush()
    other.agent.close()
    with socket.create_connection((other.endpoint.host, other.endpoint.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with ThreadPoolExecutor(1) as threads:
            trains_as_alone(pool, threads)


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("data", [b"x", bytes(64), b"\xff" * 4096])
def test_garbage_on_a_connection_harms_no_job(
    pool: AggregatorPool, data: bytes, is_cut: bool
) -> None:
    """Part of a frame, or what is no frame, with and without a disconnect."""
    with LinkToCut(pool.aggregators[0].endpoint) as link, ThreadPoolExecutor(1) as threads:
        other = OtherJob(pool, endpoint=link.endpoint)
        other.begin()
        link.send(data)
        if is_cut:
            link.cut()
        trains_as_alone(pool, threads)
        other.agent.close()


def test_a_replica_that_says_nothing_delays_its_own_job_alone() -> None:
    with AggregatorPool(3) as pool, LinkToCut(pool.aggregators[1].endpoint) as link:
        pool.table.routes(TRAINING.specs)
        every = range(len(TRAINING.shapes))
        pool.table.move(every, 0)
        agent = NumpyAgent(pool.table, 0, 1)
        agent.initialise(TRAINING.specs, TRAINING.spec, TRAINING.initial())
        pool.aggregators[0].replicate(1, every, link.endpoint.encode())
        other = OtherJob(pool)
        other.begin()
        pool.aggregators[0].replicate(OTHER, [0], pool.peer(2))
        link.hold()
        TRAINING.push_all(agent, TRAINING.initial(), 1)
        agent.finish_step([TRAINING.options_in(1)])
        agent.flush()
        waits = agent.pull(0, np.empty((3, 4), np.float32))
        with pytest.raises(TimeoutError):
            waits.wait(0.1)
        for step in range(1, 4):
            other.step()
            assert other.pull() == [-step] * 4
        for each in (agent, other.agent):
            each.close()


def test_a_closed_job_ends_its_agents_alone(pool: AggregatorPool) -> None:
    other = OtherJob(pool)
    other.begin()
    control: AggregatorControl = RemoteAggregator(other.endpoint, pool.pool_secret)
    control.close_job(OTHER)
    with pytest.raises(MotetError, match="job 2 is not open"):
        other.agent.pull(0, other.values[0]).wait(30)
    with ThreadPoolExecutor(1) as threads:
        trains_as_alone(pool, threads)
    assert [each.job for each in control.measurements()] == [1]
    control.close()  # type: ignore[attr-defined]
    other.agent.close()


def test_a_worker_that_left_is_not_waited_for(pool: AggregatorPool) -> None:
    training = replace(TRAINING, workers=2)

    def on_step(rank: int, step: int) -> None:
        if step == 4 and rank == 0:
            pool.aggregators[0].set_workers(1, [0], 4)

    agents = training.run(pool.table, on_step, ranks=[0, 1])
    assert same(agents[0][0], agents[1][0])


def test_a_worker_cannot_join_in_a_step_that_has_ended(pool: AggregatorPool) -> None:
    TRAINING.run(pool.table)
    with pytest.raises(BadInput, match=r"ranks \[2\] cannot join in step 6: step 6 has ended"):
        pool.aggregators[0].set_workers(1, [0, 1, 2], 6)
    pool.aggregators[0].set_workers(1, [0, 1, 2], 7)
