"""The template process and its executors end together, however one of them ends."""

from __future__ import annotations

import os
import secrets
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest

import local_launcher
from executor_processes import executor_processes
from marked_process import MarkedProcess
from motet.domain.errors import JobFailed
from motet.runtime.backends.local import executors, template_client, template_process
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.backends.local.executor_process import READY
from motet.runtime.backends.local.executors import LocalExecutor
from motet.runtime.backends.local.template_client import ExecutorProcess, TemplateClient
from motet.runtime.backends.local.template_messages import ExecutorStart
from motet.runtime.backends.local.template_process import TemplateProcess
from motet.runtime.controller.ports import ExecutorLost, LaunchGivenUp, LaunchRequest
from motet.transport import Endpoint
from soak_cases import others_in_soak
from toy_app import ToyRegression

pytestmark = pytest.mark.cluster
TIMEOUT_S = 60


def request(*machines: int, app: ToyRegression | None = None) -> LaunchRequest:
    return LaunchRequest("job", machines, secrets.token_bytes(32), app or ToyRegression())


@pytest.fixture
def template() -> Iterator[TemplateClient]:
    client = TemplateClient()
    yield client
    client.close()


def executor(forked: ExecutorProcess) -> psutil.Process:
    """The process, once it listens."""
    process = psutil.Process(forked.process_id)
    forked.connection.recv()
    return process


def test_a_template_has_one_thread_also_after_it_compiled_kernels(
    template: TemplateClient,
) -> None:
    template.preload("motet.apps.lasso:Lasso")
    template.preload("motet.apps.lda:LDA")
    template.fork(ExecutorStart(0, bytes(32)))

    assert psutil.Process(template.process_id).num_threads() == 1


def test_what_cannot_be_preloaded_does_not_end_the_template(template: TemplateClient) -> None:
    template.preload("motet.apps.nothing:Nothing")

    assert executor(template.fork(ExecutorStart(0, bytes(32)))).is_running()


def test_executors_end_with_the_template(template: TemplateClient) -> None:
    forks = [template.fork(ExecutorStart(number, bytes(32))) for number in range(3)]
    processes = [executor(forked) for forked in forks]
    processes[1].suspend()

    psutil.Process(template.process_id).kill()

    assert psutil.wait_procs(processes, timeout=TIMEOUT_S)[1] == []


def test_another_template_replaces_one_that_was_killed(template: TemplateClient) -> None:
    killed = template.process_id
    psutil.Process(killed).kill()

    assert (
        executor(template.fork(ExecutorStart(0, bytes(32)))).ppid() == template.process_id != killed
    )


class KilledAfterFork(TemplateProcess):
    """Its executor has begun to answer when the template is killed."""

    def fork(self, start: ExecutorStart, descriptor: int, keep_waiting: Callable[[], None]) -> Any:
        del start, keep_waiting
        with Connection(os.dup(descriptor)) as connection:
            connection.send((READY, True, "of the first executor"))
        raise ConnectionResetError


def test_an_executor_has_the_connection_of_no_other_one() -> None:
    client = TemplateClient(KilledAfterFork())
    try:
        forked = client.fork(ExecutorStart(0, bytes(32)))
        number, is_success, endpoint = forked.connection.recv()
        assert (number, is_success) == (READY, True)
        assert isinstance(endpoint, Endpoint)
    finally:
        client.close()


def test_a_template_that_ends_every_time_is_an_error(
    template: TemplateClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_process, "_START", "raise SystemExit")
    psutil.Process(template.process_id).kill()

    with pytest.raises(JobFailed, match="the process that starts executors has ended"):
        template.fork(ExecutorStart(0, bytes(32)))


def test_a_closed_template_is_not_replaced(template: TemplateClient) -> None:
    template.close()

    with pytest.raises(JobFailed, match="the process that starts executors has ended"):
        template.fork(ExecutorStart(0, bytes(32)))
    with pytest.raises(psutil.NoSuchProcess):
        psutil.Process(template.process_id)


@pytest.mark.parametrize("stopped", others_in_soak(["executor", "template"], ["template"]))
def test_nothing_is_left_after_the_end_although_a_process_is_stopped(stopped: str) -> None:
    template = TemplateClient()
    forked = template.fork(ExecutorStart(0, bytes(32)))
    process = executor(forked)
    (process if stopped == "executor" else psutil.Process(template.process_id)).suspend()

    template.close()

    assert psutil.wait_procs([process], timeout=TIMEOUT_S)[1] == []


def test_an_executor_ends_when_its_controller_closes_the_connection(
    template: TemplateClient,
) -> None:
    forked = template.fork(ExecutorStart(0, bytes(32)))
    process = executor(forked)
    forked.connection.close()

    assert psutil.wait_procs([process], timeout=TIMEOUT_S)[1] == []


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)]
)
def test_nothing_is_left_of_a_controller_that_is_killed(number: signal.Signals) -> None:
    controller = MarkedProcess([sys.executable, local_launcher.__file__])
    assert controller.first_line() == "started"
    assert len(controller.descendants()) == 4

    controller.end(number)

    controller.wait_until(lambda: not controller.descendants(), timeout_s=60.0)


class Unstartable(ToyRegression):
    """Fails, ends its process, or never becomes warm."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def warm_up(self) -> None:
        if self.how == "raises":
            raise ValueError("no kernels")
        if self.how == "exits":
            sys.exit("by itself")
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()


def test_executors_that_do_not_start_are_ended_and_say_why(local_cluster: LocalCluster) -> None:
    with pytest.raises(JobFailed, match=r"executors of job did not start: .*no kernels"):
        local_cluster.launch(request(0, 1, app=Unstartable("raises")))
    with pytest.raises(JobFailed, match=r"did not start: .*SystemExit: by itself"):
        local_cluster.launch(request(0, 1, app=Unstartable("exits")))
    with pytest.raises(ExecutorLost, match="died while it started"):
        local_cluster.launch(request(0, 1, app=Unstartable("dies")))
    never = LaunchRequest("job", (0, 1), bytes(32), Unstartable("waits"), lambda: True)
    with pytest.raises(LaunchGivenUp):
        local_cluster.launch(never)

    assert psutil.wait_procs(executor_processes(), timeout=TIMEOUT_S)[1] == []


def test_calls_of_an_executor_that_died_raise_executor_lost(local_cluster: LocalCluster) -> None:
    [handle] = local_cluster.launch(request(0)).values()
    assert isinstance(handle, LocalExecutor)
    process = psutil.Process(handle.process_id)
    process.kill()
    psutil.wait_procs([process], timeout=TIMEOUT_S)

    with pytest.raises(ExecutorLost):
        handle.abort()
    handle.kill()


@pytest.mark.soak
def test_an_executor_uses_the_python_path_of_its_controller(tmp_path: Path) -> None:
    """Modules beside the controller's script, and none of the folder where it was started."""
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd" / "numpy.py").write_text("raise SystemExit('the wrong numpy')\n")
    script = tmp_path / "script.py"
    support = Path(executor_processes.__code__.co_filename).parent
    script.write_text(
        "import sys\n"
        f"sys.path.append({str(support)!r})\n"
        "import beside, toy_app\n"
        "from motet.runtime.controller.ports import LaunchRequest\n"
        "from motet.runtime.backends.local.cluster import LocalCluster\n"
        "class App(toy_app.ToyRegression):\n"
        "    def warm_up(self):\n"
        "        import beside\n"
        "        assert beside.VALUE == 7\n"
        "with LocalCluster(1) as cluster:\n"
        "    cluster.launch(LaunchRequest('job', (0,), bytes(32), App()))\n"
        "print('warm')\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "cwd",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("warm\n", "")


@pytest.mark.soak
def test_what_an_application_prints_is_on_stderr(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import motet\n"
        "class Mine(motet.MLR):\n"
        "    name = 'mine'\n"
        "    def warm_up(self):\n"
        "        print('from an executor')\n"
        "motet.train(Mine(epochs=1, tol=0), 'iris', workers=1, servers=1)\n"
    )
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("", "from an executor\n" * 2)


@pytest.mark.soak
def test_too_many_open_files_fail_one_job_and_no_other(tmp_path: Path) -> None:
    """The limit is that of the controller, whose end of a connection is missing."""
    script = tmp_path / "script.py"
    script.write_text(
        "import resource, sys\n"
        "from motet.domain.errors import JobFailed\n"
        "from motet.runtime.backends.local.template_client import TemplateClient\n"
        "from motet.runtime.backends.local.template_messages import ExecutorStart\n"
        "template = TemplateClient()\n"
        "forks = [template.fork(ExecutorStart(0, bytes(32)))]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))\n"
        "try:\n"
        "    while True:\n"
        "        forks.append(template.fork(ExecutorStart(0, bytes(32))))\n"
        "except JobFailed as error:\n"
        "    print(error)\n"
        "forks.pop().connection.close()\n"
        "forks.append(template.fork(ExecutorStart(0, bytes(32))))\n"
        "print(forks[0].connection.recv()[1])\n"
        "template.close()\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    assert "an executor could not be started (" in ended.stdout
    assert "open files" in ended.stdout
    assert ended.stdout.endswith("True\n")


def test_an_answer_that_was_given_up_is_not_taken_for_the_next(template: TemplateClient) -> None:
    process = psutil.Process(template.process_id)
    process.suspend()
    with pytest.raises(LaunchGivenUp):
        template.fork(ExecutorStart(0, bytes(32)), lambda: True)
    process.resume()
    forked = template.fork(ExecutorStart(1, bytes(32)))
    assert executor(forked).is_running()


def test_a_call_to_a_stopped_executor_ends_with_its_loss(
    local_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_client, "_SEND_TIMEOUT", struct.pack("@ll", 1, 0))
    monkeypatch.setattr(executors, "_CALL_TIMEOUT_S", 1.0)
    [handle] = local_cluster.launch(request(0)).values()
    assert isinstance(handle, LocalExecutor)
    psutil.Process(handle.process_id).suspend()
    large: Any = bytes(8 << 20)
    with pytest.raises(ExecutorLost):
        handle.configure(large)
    assert psutil.wait_procs(executor_processes(), timeout=TIMEOUT_S)[1] == []


@pytest.mark.soak
def test_no_executor_is_left_when_close_returns() -> None:
    for _ in range(3):
        template = TemplateClient()
        forks = [template.fork(ExecutorStart(number, bytes(32))) for number in range(6)]
        processes = [executor(forked) for forked in forks]
        template.close()
        assert [each for each in processes if each.is_running()] == []
