"""Hosts with real links and quotas, without Ray."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from motet.domain.errors import BadInput, MotetError, NotFound
from motet.testbed import machine
from motet.testbed.hosts import Blueprint, Limits, equal_machines
from motet.testbed.state import locked, read_state
from motet.testbed.status import status_of
from motet.testbed.testbed import Testbed as Bed
from soak_cases import others_in_soak
from testbed_hosts import (
    MOTET,
    bare_testbed,
    hosts,
    left_behind,
    motet,
    on_host,
    python_on,
    said_on,
)

# Where the module's testbed cannot be made, no test of it makes one.
pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("bed")]

LIMITS = Limits(cpus=0.5, bandwidth_bps=20_000_000, memory_bytes=200_000_000)

RECEIVE = """
import socket, time
listener = socket.create_server(("0.0.0.0", 9000))
print("ready", flush=True)
peer, _ = listener.accept()
count, began = 0, time.perf_counter()
while got := peer.recv(1 << 16):
    count += len(got)
print(count * 8 / (time.perf_counter() - began))
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 9000)) as peer:
    peer.sendall(bytes(int(sys.argv[2])))
"""
# The share of a CPU that a busy loop gets.
BURN = """
import time
began, used = time.perf_counter(), time.process_time()
while time.perf_counter() - began < 1.5:
    pass
print((time.process_time() - used) / (time.perf_counter() - began))
"""
ALLOCATE = "print(len(bytearray(400_000_000)))"
# Whoever answers at all refuses: nothing listens there.
REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=float(sys.argv[2]))
except ConnectionRefusedError:
    print("answers")
except OSError:
    print("silent")
"""
TRIES = 8
WAIT_S = 200
IDENTITY = "from motet.transport import host_identity; print(host_identity())"
SERVE = """
import sys, time
from motet.transport import Server
with Server(lambda request: None, bytes(32), host=sys.argv[1]) as server:
    print(server.endpoint.encode(), flush=True)
    sys.stdin.read()
"""
DIAL = """
import sys
from motet.transport import Connection, Endpoint
with Connection(Endpoint.decode(sys.argv[1]), bytes(32)) as connection:
    print(connection.is_local)
"""


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with hosts(3, LIMITS) as made:
        yield made


def goodput_bps(bed: Bed, sender: str, receiver: str, payload_bytes: int) -> float:
    address = bed.layout.address_of(read_state(bed.layout).blueprint.find(receiver))
    listening = on_host(bed, receiver, sys.executable, "-c", RECEIVE)
    assert listening.stdout is not None
    assert listening.stdout.readline() == "ready\n"
    python_on(bed, sender, SEND, address, str(payload_bytes))
    return float(listening.communicate(timeout=WAIT_S)[0])


def best_of(measure: Callable[[], float], enough: float) -> float:
    """The most of several measurements: other processes of the machine only make one smaller."""
    most = 0.0
    for _ in range(TRIES):
        most = max(most, measure())
        if most > enough:
            break
    return most


def test_a_link_has_its_bandwidth_and_can_be_changed(bed: Bed) -> None:
    slow_bps = best_of(lambda: goodput_bps(bed, "m0", "m1", 3_000_000), 0.75 * 20e6)
    bed.change(["m0", "m1"], Limits(bandwidth_bps=80_000_000))
    fast_bps = best_of(lambda: goodput_bps(bed, "m0", "m1", 10_000_000), 2.5 * slow_bps)
    bed.change(["m0", "m1"], LIMITS)
    assert 0.75 * 20e6 < slow_bps < 1.05 * 20e6
    assert 2.5 < fast_bps / slow_bps < 5.0


def test_the_slower_end_decides(bed: Bed) -> None:
    bed.change(["m1"], Limits(bandwidth_bps=5_000_000))
    there, back = (goodput_bps(bed, *pair, 750_000) for pair in (("m0", "m1"), ("m1", "m0")))
    bed.change(["m1"], LIMITS)
    assert max(there, back) < 1.3 * 5e6


def test_a_quota_binds_and_can_be_changed(bed: Bed) -> None:
    bed.change(["m2"], Limits(cpus=0.1))
    little = float(python_on(bed, "m2", BURN))
    bed.change(["m2"], Limits(cpus=0.4))
    more = best_of(lambda: float(python_on(bed, "m2", BURN)), little)
    assert little < 0.12
    assert little < more < 0.45


def test_a_memory_limit_kills_only_the_process_that_exceeds_it(bed: Bed) -> None:
    if psutil.swap_memory().total:
        pytest.skip("this machine has swap, which takes what a process has too much")
    greedy = on_host(bed, "m0", sys.executable, "-c", ALLOCATE)
    assert greedy.wait(timeout=WAIT_S) == -signal.SIGKILL
    assert python_on(bed, "m1", "print(1)") == "1\n"


def test_a_host_reaches_the_other_hosts_and_no_network_beyond(bed: Bed) -> None:
    assert answers(bed, "m0", "10.77.0.2")
    assert said_on(bed, "m0", "ip", "route").splitlines() == [
        "10.77.0.0/24 dev eth0 proto kernel scope link src 10.77.0.1 "
    ]


def test_a_partitioned_host_is_cut_off_until_it_is_healed(bed: Bed) -> None:
    bed.partition(["m1"])
    conditions = [host.condition for host in status_of(bed).hosts]
    assert conditions == ["up", "up", "partitioned", "up"]
    assert answers(bed, "m0", "10.77.0.3")
    assert not answers(bed, "m0", "10.77.0.2", patience_s=1)
    bed.heal(["m1"])
    assert answers(bed, "m0", "10.77.0.2")
    assert {host.condition for host in status_of(bed).hosts} == {"up"}


@pytest.mark.parametrize("silently", [False, True])
def test_killing_a_host_ends_what_runs_there_and_nothing_else(bed: Bed, silently: bool) -> None:
    victim, other = on_host(bed, "m1", "sleep", "60"), on_host(bed, "m2", "sleep", "60")
    wait_for_processes(bed, "m1", 1)
    bed.kill(["m1"], silently=silently)
    assert victim.wait(timeout=WAIT_S) == -signal.SIGKILL
    assert other.poll() is None
    bed.start(["m1"])
    assert answers(bed, "m0", "10.77.0.2")
    other.kill()
    other.wait()


def test_hosts_of_one_kernel_are_different_hosts_to_the_data_plane(bed: Bed) -> None:
    identities = {python_on(bed, host, IDENTITY) for host in ("m0", "m1", "front")}
    assert len(identities) == 3

    server = on_host_with_input(bed, "m0", sys.executable, "-c", SERVE, "10.77.0.1")
    assert server.stdout is not None
    endpoint = server.stdout.readline().strip()
    local = [python_on(bed, host, DIAL, endpoint).strip() for host in ("m0", "m1")]
    server.communicate(timeout=WAIT_S)
    assert local == ["True", "False"]


def test_the_environment_of_a_command_names_the_cluster(bed: Bed) -> None:
    said = said_on(bed, "front", "printenv", "MOTET_ADDRESS")
    assert said == f"{bed.layout.head_address}\n"


def test_only_the_owner_can_read_secrets(bed: Bed) -> None:
    assert stat.S_IMODE(bed.layout.token_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(bed.layout.folder.stat().st_mode) == 0o700


def test_a_second_testbed_of_that_name_is_refused_and_the_first_one_stays(bed: Bed) -> None:
    with pytest.raises(BadInput, match="already exists; remove it with"):
        bed.up(Blueprint(bed.layout.name, equal_machines(1, LIMITS), with_ray=False))
    assert said_on(bed, "m0", "true") == ""


def test_two_testbeds_do_not_see_each_other(bed: Bed) -> None:
    with hosts(1) as other:
        assert other.layout.address_of(read_state(other.layout).blueprint.find("m0")) == "10.77.0.1"
        assert not answers(other, "m0", "10.77.0.2", patience_s=1)
    assert left_behind(other) == []
    assert answers(bed, "m0", "10.77.0.2")


def test_the_command_line_offers_all_operations(bed: Bed) -> None:
    name = ("--name", bed.layout.name)
    assert motet("testbed", "set", "m0", "--cpus", "0.3", *name).stderr == "changed: m0\n"
    shown = motet("testbed", "status", *name)
    assert shown.stdout.splitlines()[4].split()[:5] == ["m0", "10.77.0.1", "up", "0.3", "20mbit"]
    ended = motet("testbed", "exec", *name, "m0", "--", "sh", "-c", "echo $MOTET_ADDRESS; exit 7")
    assert (ended.returncode, ended.stdout) == (7, "10.77.0.254:6379\n")
    ran = motet("testbed", "run", *name, "--", "ip", "-br", "-4", "addr", "show", "eth0")
    assert "10.77.0.254/24" in ran.stdout
    unknown = motet("testbed", "kill", "m9", *name)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (3, 1)


def test_down_removes_everything_and_can_be_repeated() -> None:
    with hosts(2, LIMITS) as bed:
        running = on_host(bed, "m0", "sleep", "60")
        wait_for_processes(bed, "m0", 1)
        removal = bed.down()
        assert removal.hosts == 2
        assert removal.processes >= 1
        assert running.wait(timeout=WAIT_S) == -signal.SIGKILL
        assert left_behind(bed) == []
        assert bed.down().hosts == 0
    with pytest.raises(NotFound, match="there is no testbed"):
        read_state(bed.layout)


def test_down_finds_processes_that_left_their_control_group() -> None:
    with hosts(1) as bed:
        stray = on_host(bed, "m0", "sleep", "60")
        while machine.program_of(stray.pid) != "sleep":  # It enters the host's network on the way.
            time.sleep(0.001)
        for parent in bed.groups.parents():
            (parent / "cgroup.procs").write_text(str(stray.pid))
        bed.down()
        assert stray.wait(timeout=WAIT_S) == -signal.SIGKILL
        assert left_behind(bed) == []


def test_down_needs_no_state_file() -> None:
    with hosts(1) as bed:
        bed.layout.state_file.unlink()
        bed.down()
        assert left_behind(bed) == []


@pytest.mark.parametrize(
    "moment", others_in_soak(["state.json", "token", "ray.m0", "ray.m5"], ["state.json"])
)
def test_down_removes_what_a_killed_up_created(moment: str) -> None:
    bed = bare_testbed()
    up = start_up(bed.layout.name)
    await_file(up, bed, moment)
    up.kill()
    up.wait()
    if bed.layout.state_file.exists():
        while (
            condition := status_of(bed).condition
        ) == "changing":  # a child that is just starting
            time.sleep(0.001)
        assert condition in ("incomplete", "up")
    bed.down()
    assert left_behind(bed) == []


@pytest.mark.soak
def test_an_interrupted_up_removes_what_it_created() -> None:
    bed = bare_testbed()
    up = start_up(bed.layout.name)
    await_file(up, bed, "ray.m2")
    up.send_signal(signal.SIGINT)
    code = up.wait(timeout=WAIT_S)
    # A machine that is fast enough has finished before the signal came.
    if code == 0:
        bed.down()
    else:
        assert code == 130
    assert left_behind(bed) == []


def test_a_failed_up_removes_what_it_created(monkeypatch: pytest.MonkeyPatch) -> None:
    bed = bare_testbed()
    run = machine.run_command

    def run_until_limits(command: list[str]) -> str:
        if command[0] == "tc":
            raise MotetError("the kernel has no token bucket")
        return run(command)

    monkeypatch.setattr(machine, "run_command", run_until_limits)
    with pytest.raises(MotetError, match="no token bucket"):
        bed.up(Blueprint(bed.layout.name, equal_machines(2, LIMITS), with_ray=False))
    assert left_behind(bed) == []


def test_one_command_at_a_time_changes_a_testbed(bed: Bed) -> None:
    with locked(bed.layout):
        assert status_of(bed).condition == "changing"
        with pytest.raises(MotetError, match="another command is changing"), locked(bed.layout, 0):
            pass


def answers(bed: Bed, host: str, address: str, patience_s: float = 10) -> bool:
    """Whether packets from a host reach an address and come back."""
    return python_on(bed, host, REACH, address, str(patience_s)) == "answers\n"


def start_up(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*MOTET, "testbed", "up", "--machines", "6", "--no-ray", "--cpus", "0.2", "--name", name],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def await_file(up: subprocess.Popen[bytes], bed: Bed, name: str) -> None:
    """Poll until `up` has made a file."""
    while not (bed.layout.folder / name).exists() and up.poll() is None:
        time.sleep(0.001)


def wait_for_processes(bed: Bed, host: str, count: int) -> None:
    """Poll until a host has so many."""
    found = read_state(bed.layout).blueprint.find(host)
    files = bed.groups.members_files(bed.layout.label_of(found))
    while len(machine.members(files)) < count:
        time.sleep(0.005)


def on_host_with_input(bed: Bed, host: str, *command: str) -> subprocess.Popen[str]:
    arguments, environment = bed.entering(host, command)
    return subprocess.Popen(
        arguments, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
