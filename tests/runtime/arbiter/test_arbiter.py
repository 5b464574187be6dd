"""Real processes share the tokens of a real arbiter, and are killed and stopped."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.arbiter.arbiter_process import SUBTASK_LIMIT_S, ensure_arbiter
from motet.runtime.arbiter.holding_log import log_of, read_holdings
from motet.runtime.core.subtask import SubtaskKind
from motet.transport.lanes import NO_LANE, PRIMARY, SECONDARY
from soak_cases import others_in_soak
from waiting import wait_until

KINDS = [SubtaskKind.COMP, SubtaskKind.PUSH]
TOKENS = {SubtaskKind.COMP: 1, SubtaskKind.PUSH: 2}
HOLDER = """
import sys
from pathlib import Path
from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.core.subtask import SubtaskKind

with ArbiterGate(Path(sys.argv[1])).enter(SubtaskKind(sys.argv[2])):
    print("holds", flush=True)
    sys.stdin.read()
"""
COUNTER = """
import sys
from pathlib import Path
from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.core.subtask import SubtaskKind

gate, path = ArbiterGate(Path(sys.argv[1])), Path(sys.argv[2])
for _ in range(200):
    with gate.enter(SubtaskKind.COMP):
        path.write_text(str(int(path.read_text()) + 1))
"""

CLAIMER = """
import sys
from pathlib import Path
from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.core.subtask import SubtaskKind

def claimed(places):
    for place in places:
        try:
            place.touch(exist_ok=False)
            return place
        except FileExistsError:
            pass
    sys.exit("more COMPs at a time than tokens")

gate, places = ArbiterGate(Path(sys.argv[1])), [Path(each) for each in sys.argv[2:]]
for _ in range(100):
    with gate.enter(SubtaskKind.COMP):
        claimed(places).unlink()
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[Path]:
    """Where an arbiter listens; a subtask takes at most a second."""
    yield from arbiter_at(tmp_path / "arbiter", SUBTASK_LIMIT_S)


@pytest.fixture
def patient_address(tmp_path: Path) -> Iterator[Path]:
    """Where an arbiter listens that takes no token away."""
    yield from arbiter_at(tmp_path / "patient", limit_s=1e6)


def arbiter_at(address: Path, limit_s: float, cpus: int = 1) -> Iterator[Path]:
    ensure_arbiter(address, cpus, limit_s)
    yield address
    for each in arbiters(address):
        each.kill()


def arbiters(address: Path) -> list[psutil.Process]:
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if str(address) in (line := each.cmdline()) and "-m" in line:
                found.append(each)
    return found


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=pipe, stdout=pipe, text=True
    )


def holder(address: Path, kind: SubtaskKind) -> subprocess.Popen[str]:
    """A process that holds a token until its stdin is closed."""
    process = start(HOLDER, str(address), kind.value)
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    return process


def holders(address: Path, kind: SubtaskKind) -> list[subprocess.Popen[str]]:
    """Processes that hold all tokens of a kind."""
    return [holder(address, kind) for _ in range(TOKENS[kind])]


def holders_of_record(address: Path) -> set[str]:
    return {each.job for each in read_holdings(log_of(address))}


def enter(gate: ArbiterGate, kind: SubtaskKind) -> None:
    with gate.enter(kind):
        pass


def test_one_process_computes_at_a_time(address: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    neighbour = holder(address, SubtaskKind.PUSH)  # Who is alone does not ask.
    processes = [start(COUNTER, str(address), str(count)) for _ in range(4)]
    assert [each.wait() for each in processes] == [0] * 4
    neighbour.communicate()
    assert count.read_text() == "800"


@pytest.mark.soak
def test_as_many_processes_compute_at_a_time_as_there_are_cpu_tokens(tmp_path: Path) -> None:
    for address in arbiter_at(tmp_path / "arbiter", limit_s=1e6, cpus=2):
        first = [holder(address, SubtaskKind.COMP) for _ in range(2)]  # Both hold a token.
        for each in first[1:]:
            each.communicate()
        neighbour = holder(address, SubtaskKind.PUSH)
        places = [str(tmp_path / f"place-{number}") for number in range(2)]
        alone = [start(CLAIMER, str(address), places[0]) for _ in range(3)]
        assert [each.wait() for each in alone] == [0] * 3, "one token is held"
        first[0].communicate()
        both = [start(CLAIMER, str(address), *places) for _ in range(4)]
        assert [each.wait() for each in both] == [0] * 4
        neighbour.communicate()


def test_computing_and_communicating_exclude_each_other_not(address: Path) -> None:
    gate = ArbiterGate(address)
    computing = holder(address, SubtaskKind.COMP)
    enter(gate, SubtaskKind.PULL)
    computing.kill()
    computing.wait()


@pytest.mark.parametrize(
    ("kind", "place"),
    others_in_soak(
        [(SubtaskKind.COMP, 0), (SubtaskKind.PUSH, 0), (SubtaskKind.PUSH, 1)],
        [(SubtaskKind.PUSH, 0)],
    ),
)
def test_the_token_of_a_killed_process_is_free(
    patient_address: Path, kind: SubtaskKind, place: int
) -> None:
    """The CPU token, the primary and the secondary network token."""
    others = holders(patient_address, kind)
    neighbour = others.pop(place)
    waiting = start(HOLDER, str(patient_address), kind.value)
    neighbour.kill()
    neighbour.wait()
    assert waiting.communicate()[0] == "holds\n"
    # It had a token: a subtask that an arbiter refuses runs without one, and is not recorded.
    wait_until(lambda: f"process {waiting.pid}" in holders_of_record(patient_address))
    for each in others:
        each.communicate()


@pytest.mark.parametrize("kind", others_in_soak(KINDS, [SubtaskKind.COMP]))
def test_a_stopped_process_delays_others_by_the_limit_of_a_subtask(
    address: Path, kind: SubtaskKind
) -> None:
    neighbours = holders(address, kind)
    for each in neighbours:
        each.send_signal(signal.SIGSTOP)
    gate = ArbiterGate(address)
    enter(gate, kind)
    enter(gate, kind)
    for each in neighbours:
        each.send_signal(signal.SIGCONT)
        each.communicate()
        assert each.returncode == 0
    enter(gate, kind)


def test_the_second_job_that_communicates_yields_until_the_first_has_ended(address: Path) -> None:
    first, gate = holder(address, SubtaskKind.PUSH), ArbiterGate(address)
    with gate.enter(SubtaskKind.PUSH) as yields:
        assert yields
        assert gate.lane() == SECONDARY
        first.communicate()
        wait_until(lambda: gate.lane() == PRIMARY)
    assert gate.lane() == NO_LANE


def test_a_promotion_that_nobody_read_grants_nothing(address: Path) -> None:
    first, gate = holder(address, SubtaskKind.PUSH), ArbiterGate(address)
    with gate.enter(SubtaskKind.PUSH):
        first.communicate()
        holder(address, SubtaskKind.COMP).communicate()  # The arbiter has seen the end of `first`.
    computing = holder(address, SubtaskKind.COMP)
    with gate.enter(SubtaskKind.COMP) as yields:
        assert computing.poll() is None  # Over the limit.
        assert not yields
        assert gate.lane() == NO_LANE
    computing.communicate()


@pytest.mark.parametrize(
    "kind", others_in_soak([SubtaskKind.PULL, SubtaskKind.PUSH], [SubtaskKind.PUSH])
)
def test_a_job_that_communicates_while_others_only_compute_yields_to_nobody(
    address: Path, kind: SubtaskKind
) -> None:
    neighbour, gate = holder(address, SubtaskKind.COMP), ArbiterGate(address)
    with gate.enter(kind) as yields:
        assert not yields
        assert gate.lane() == PRIMARY
    neighbour.communicate()


def test_without_an_arbiter_communication_has_no_lane(tmp_path: Path) -> None:
    gate = ArbiterGate(tmp_path / "none")
    with gate.enter(SubtaskKind.PUSH) as yields:
        assert not yields
        assert gate.lane() == NO_LANE


def test_subtasks_go_on_when_the_arbiter_is_killed(address: Path) -> None:
    gate = ArbiterGate(address)
    enter(gate, SubtaskKind.COMP)
    waiting = holder(address, SubtaskKind.COMP), start(HOLDER, str(address), "comp")
    (process,) = arbiters(address)
    process.kill()
    process.wait()
    assert [each.communicate()[0] for each in waiting] == ["", "holds\n"]
    enter(gate, SubtaskKind.COMP)


def test_subtasks_go_on_while_the_arbiter_is_stopped(address: Path) -> None:
    gate, neighbour = ArbiterGate(address), holder(address, SubtaskKind.PUSH)
    enter(gate, SubtaskKind.COMP)
    (process,) = arbiters(address)
    process.suspend()
    for _ in range(3):
        enter(gate, SubtaskKind.COMP)
    process.resume()
    neighbour.communicate()


def test_an_arbiter_that_is_stopped_for_long_holds_up_no_job(tmp_path: Path) -> None:
    """Every attempt to connect stays in its queue; when that is full, a connect would wait."""
    address = tmp_path / "arbiter"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stopped:
        stopped.bind(str(address))
        stopped.listen(0)
        attempts = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        for each in attempts:
            each.setblocking(False)
            is_full = each.connect_ex(str(address)) == errno.EAGAIN
        assert is_full
        gate = ArbiterGate(address, lambda: ensure_arbiter(address))
        with gate.enter(SubtaskKind.COMP):
            assert gate.lane() == NO_LANE
        for each in attempts:
            each.close()


def test_a_killed_arbiter_is_started_again(address: Path) -> None:
    gate = ArbiterGate(address, lambda: ensure_arbiter(address))
    neighbour = holder(address, SubtaskKind.PUSH)
    enter(gate, SubtaskKind.COMP)
    (first,) = arbiters(address)
    first.kill()
    first.wait()

    def has_another() -> bool:
        enter(gate, SubtaskKind.COMP)
        return bool(arbiters(address))

    wait_until(has_another)
    neighbour.communicate()


def test_a_job_alone_on_its_machine_asks_for_nothing(address: Path) -> None:
    gate = ArbiterGate(address)
    assert not gate.is_free
    enter(gate, SubtaskKind.COMP)
    assert gate.is_free
    (process,) = arbiters(address)
    process.suspend()
    enter(gate, SubtaskKind.COMP)
    assert gate.is_free
    process.resume()
    neighbour = holder(address, SubtaskKind.COMP)
    assert not gate.is_free
    neighbour.communicate()
    wait_until(lambda: gate.is_free)


def test_two_jobs_that_begin_at_once_get_one_arbiter_that_ends_after_them(tmp_path: Path) -> None:
    address = tmp_path / "arbiter"
    program = "import sys; from pathlib import Path\n"
    program += "from motet.runtime.arbiter.arbiter_process import ensure_arbiter\n"
    program += "ensure_arbiter(Path(sys.argv[1]))"
    processes = [start(program, str(address)) for _ in range(4)]
    assert [each.wait() for each in processes] == [0] * 4
    (only,) = arbiters(address)
    holder(address, SubtaskKind.COMP).communicate()
    only.wait()


@pytest.mark.skipif(os.getuid() != 0, reason="needs two users")
def test_another_user_gets_no_token(address: Path) -> None:
    program = "import os, socket, sys; os.setuid(65534)\n"
    program += "it = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
    program += "it.connect(sys.argv[1]); it.send(bytes([1]) + bytes(8)); print(it.recv(1))"
    for folder in (address, *address.parents[:4]):
        folder.chmod(folder.stat().st_mode | 0o011 if folder.is_dir() else 0o666)
    stranger = start(program, str(address))
    assert stranger.communicate()[0] in ("b''\n", "")


def test_processes_of_one_job_do_not_make_a_machine_shared(address: Path) -> None:
    gates = [ArbiterGate(address, job=job) for job in ("one", "one", "two")]
    for gate in gates[:2]:
        enter(gate, SubtaskKind.COMP)
    assert gates[0].is_free
    enter(gates[2], SubtaskKind.COMP)
    wait_until(lambda: not gates[0].is_free)


def test_what_tokens_were_held_for_is_recorded(address: Path) -> None:
    one, two = ArbiterGate(address, job="one"), ArbiterGate(address, job="a job of a long name")
    enter(one, SubtaskKind.COMP)
    before_us = time.time_ns() // 1000
    for kind in (SubtaskKind.PULL, SubtaskKind.COMP, SubtaskKind.PUSH):
        enter(two, kind)
    wait_until(lambda: len(read_holdings(log_of(address))) == 4)
    found = read_holdings(log_of(address))
    assert [(each.job, each.kind.value) for each in found] == [
        ("one", "comp"),
        ("a job of a long", "pull"),
        ("a job of a long", "comp"),
        ("a job of a long", "push"),
    ]
    assert all(each.start_us <= each.end_us for each in found)
    assert before_us <= found[1].end_us <= time.time_ns() // 1000


def test_an_arbiter_does_not_end_with_the_job_that_started_it(tmp_path: Path) -> None:
    """The processes of a job are found by a variable of their environment."""
    address = tmp_path / ("a" * 100) / "arbiter"  # Longer than a socket address.
    program = "import os, sys; from pathlib import Path; os.environ['MOTET_MARK'] = 'job'\n"
    program += "from motet.runtime.arbiter.arbiter_process import ensure_arbiter\n"
    program += "ensure_arbiter(Path(sys.argv[1]))"
    assert start(program, str(address)).wait() == 0
    (only,) = arbiters(address)
    assert "MOTET_MARK" not in only.environ()
    enter(ArbiterGate(address), SubtaskKind.COMP)
    only.kill()
