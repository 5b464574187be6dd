"""`motet server --aggregators`: jobs find the pool, and outlive whatever of it is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from aggregator_world import join
from live_server import LiveServer, running_server
from live_trainings import ended
from motet.aggregation.wire.job_credentials import JobCredential
from motet.aggregation.wire.pool_address import PoolAddress
from motet.aggregation.wire.pool_messages import PoolRequest
from motet.domain.errors import Unreachable
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from motet.runtime.wire.codec import encode
from motet.transport import Connection
from pool_job import pool_job
from pool_training import alone
from ray_nodes import RayNodes, ray_nodes
from waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.cluster, pytest.mark.timeout(900)]
EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_digits.py"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    options = ("--cluster", "1x2", "--aggregators", "2", "--loss-limit", "0.2")
    with running_server(tmp_path / "state", *options) as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


class Training:
    """A live job of two workers that trains until it is told to end."""

    def __init__(self, client: LiveClient, folder: Path, **more: Any) -> None:
        self.folder = folder
        folder.mkdir()
        spec = pool_job("pool_program.py", folder, 2)
        self.job: str = client.submit({**spec, **more})["id"]

    @property
    def steps(self) -> int:
        """Of rank 0."""
        path = self.folder / "steps-0"
        return int(path.read_text()) if path.exists() else 0

    def goes_on(self) -> None:
        """Wait until it has trained further."""
        before = self.steps
        wait_until(lambda: self.steps > before + 20)

    def finish(self, client: LiveClient) -> None:
        """Let it end; both workers have what one process computes."""
        (self.folder / "end").touch()
        assert ended(client, self.job)["state"] == "SUCCEEDED"
        expected = np.concatenate(alone(2, int((self.folder / "last").read_text())))
        for rank in range(2):
            found = np.load(self.folder / f"values-{rank}.npy")
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def environment(server: LiveServer, job: str) -> Mapping[str, str]:
    """Of a process of a job."""
    for process in psutil.process_iter():
        try:
            variables = process.environ()
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        is_of_server = str(server.folder) in variables.get("MOTET_CHECKPOINT_DIR", "")
        if is_of_server and variables.get("MOTET_JOB_ID") == job:
            return variables
    raise AssertionError(f"no process of job {job}")


def joins(credential: JobCredential, address: Path) -> None:
    """Raises what pMaster does."""
    place = PoolAddress.read(address, credential.secret)
    name = credential.client_name()
    with Connection(place.endpoint, place.secret, client_id=name, retry_for_s=0.0) as connection:
        request = encode(join(credential.pool_job("other")))[0]
        connection.request(PoolRequest.JOIN, request, timeout_s=60.0)


def pool(client: LiveClient) -> dict[str, Any]:
    """What is on the Aggregators, as soon as pMaster answers."""
    found: list[dict[str, Any]] = []

    def answers() -> bool:
        with suppress(Unreachable):
            found.append(client.aggregation())
        return bool(found)

    wait_until(answers)
    return found[0]


def test_a_job_finds_the_pool_and_is_gone_from_it_at_its_end(
    server: LiveServer, client: LiveClient, tmp_path: Path
) -> None:
    assert pool(client)["aggregators"] == []
    training = Training(client, tmp_path / "job", aggregation={"loss_limit": 0.05, "servers": 1})
    wait_until(lambda: training.steps > 0)
    (job,) = pool(client)["jobs"]
    assert (job["id"], job["job_name"], job["workers"]) == (training.job, "line", [0, 1])
    assert (job["loss_limit"], pool(client)["loss_limit"]) == (0.05, 0.2)
    tensors = client.tensors(training.job)["tensors"]
    assert [each["name"] for each in tensors] == ["w", "b"]
    assert {each["machine"] for each in pool(client)["aggregators"]} == {"m0"}
    assert "motet_aggregation_up 1.0" in client.metrics()
    wait_until(lambda: client.job(training.job)["model"] is not None)
    assert client.job(training.job)["model"]["skew"] == round(64 / 65, 4)
    variables = environment(server, training.job)
    credential = JobCredential.of_environment(variables)
    assert credential is not None
    training.finish(client)
    wait_until(lambda: pool(client)["jobs"] == [])
    wait_until(lambda: pool(client)["aggregators"] == [])
    wait_until(lambda: server.shepherds() == [])
    with pytest.raises(Unreachable, match="does not run in the cluster of this pool"):
        joins(credential, Path(variables["MOTET_AGGREGATION"]))


def kill_server(server: LiveServer, training: Training) -> None:
    server.kill()
    training.goes_on()
    server.start()


def kill_launcher(server: LiveServer, training: Training) -> None:
    for pid in server.launchers():
        os.kill(pid, signal.SIGKILL)


def kill_pmaster(server: LiveServer, training: Training) -> None:
    for pid in server.processes_of("master_process"):
        os.kill(pid, signal.SIGKILL)


def kill_an_aggregator(server: LiveServer, training: Training) -> None:
    """One of the two: a tensor's home and its replica are on different ones."""
    os.kill(server.aggregators()[0], signal.SIGKILL)


def kill_its_shepherd(server: LiveServer, training: Training) -> None:
    shepherd = psutil.Process(server.aggregators()[0]).parent()
    assert shepherd is not None
    shepherd.kill()


def is_safe(client: LiveClient) -> bool:
    """Whether pMaster answers, and each tensor has its replica."""
    jobs = pool(client)["jobs"]
    with suppress(Unreachable):
        tensors = [each for job in jobs for each in client.tensors(job["id"])["tensors"]]
        return bool(tensors) and all(each["replica"] is not None for each in tensors)
    return False


@pytest.mark.parametrize(
    "fault",
    [kill_server, kill_launcher, kill_pmaster, kill_an_aggregator, kill_its_shepherd],
)
def test_a_job_goes_on_when_a_part_of_the_pool_is_killed(
    server: LiveServer,
    client: LiveClient,
    tmp_path: Path,
    fault: Callable[[LiveServer, Training], None],
) -> None:
    training = Training(client, tmp_path / "job")
    wait_until(lambda: training.steps > 0)
    wait_until(lambda: is_safe(client))
    fault(server, training)
    training.goes_on()
    with LiveClient(ServerAddress.find(folder=server.folder)) as now:
        wait_until(lambda: [each["id"] for each in pool(now)["jobs"]] == [training.job])
        wait_until(lambda: is_safe(now))
        training.finish(now)
        wait_until(lambda: pool(now)["aggregators"] == [])


def test_a_preempted_job_leaves_the_pool_and_begins_anew(
    server: LiveServer, client: LiveClient, tmp_path: Path
) -> None:
    training = Training(client, tmp_path / "job", preempt={"grace_s": 0})
    wait_until(lambda: training.steps > 0)
    client.change(training.job, "suspend")
    wait_until(lambda: client.job(training.job)["state"] == "SUSPENDED")
    wait_until(lambda: pool(client)["jobs"] == [])
    (training.folder / "steps-0").unlink()
    client.change(training.job, "resume")
    wait_until(lambda: training.steps > 0)
    assert [each["name"].rpartition(".")[2] for each in pool(client)["jobs"]] == ["2/line"]
    training.finish(client)


def test_aggregators_leave_a_drained_machine_while_jobs_train(tmp_path: Path) -> None:
    with running_server(tmp_path / "state", "--cluster", "2x2", "--aggregators", "2") as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        training = Training(client, tmp_path / "job")
        wait_until(lambda: training.steps > 0)
        wait_until(lambda: is_safe(client))
        assert machines_of_aggregators(client) == {"m0", "m1"}
        client.drain_machine("m1", "its notice is short")
        wait_until(lambda: machines_of_aggregators(client) == {"m0"})
        training.goes_on()
        wait_until(lambda: is_safe(client))
        training.finish(client)


def machines_of_aggregators(client: LiveClient) -> set[str]:
    return {each["machine"] for each in pool(client)["aggregators"]}


def test_a_pytorch_program_attaches_without_arguments(client: LiveClient, tmp_path: Path) -> None:
    spec = {
        "name": "digits",
        "run": [sys.executable, str(EXAMPLE), "--epochs", "2"],
        "processes": 2,
        "workdir": str(tmp_path),
        "envs": {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "OMP_NUM_THREADS": "1"},
    }
    job = client.submit(spec)["id"]
    assert ended(client, job)["state"] == "SUCCEEDED"
    log = client.log_part(job, rank=0, attempt=0, offset=0).data.decode()
    assert "epoch 2: loss" in log
    wait_until(lambda: pool(client)["jobs"] == [])


@contextmanager
def training_on(nodes: RayNodes, folder: Path) -> Iterator[tuple[LiveClient, Training]]:
    """A server that has joined the nodes, and a job that trains on its pool, with replicas."""
    options = ("--address", nodes.address, "--aggregators", "2")
    with running_server(folder / "state", *options) as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        training = Training(client, folder / "job")
        wait_until(lambda: training.steps > 0)
        wait_until(lambda: is_safe(client))
        yield client, training


def test_aggregators_are_on_all_machines_of_a_cluster(no_shared_ray: None, tmp_path: Path) -> None:
    del no_shared_ray
    with ray_nodes(m1=1, m2=1) as nodes, training_on(nodes, tmp_path) as (client, training):
        assert client.job(training.job)["attempt_list"][0]["placement"] == {"m1": 1, "m2": 1}
        machines = {each["number"]: each["machine"] for each in pool(client)["aggregators"]}
        assert set(machines.values()) == {"m1", "m2"}
        for each in client.tensors(training.job)["tensors"]:
            assert machines[each["aggregator"]] != machines[each["replica"]]
        training.finish(client)
        wait_until(lambda: pool(client)["aggregators"] == [])


def test_aggregators_leave_a_node_that_ray_drains(no_shared_ray: None, tmp_path: Path) -> None:
    """As after the notice of a spot machine."""
    del no_shared_ray
    with ray_nodes(m1=2, m2=2) as nodes, training_on(nodes, tmp_path) as (client, training):
        assert machines_of_aggregators(client) == {"m1", "m2"}
        nodes.drain("m2", notice_s=600)
        wait_until(lambda: machines_of_aggregators(client) == {"m1"})
        training.goes_on()
        wait_until(lambda: is_safe(client))
        training.finish(client)
