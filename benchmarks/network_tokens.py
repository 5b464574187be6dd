"""What a job with the secondary network token takes from the primary one (Linux, root).

Two hosts of a testbed with a link of 100 Mbit/s each. Two jobs have a server on the first and a
worker on the second host, each a process of its own. The primary job moves 4 MB and pauses as long
as that takes; the secondary job always has four transfers of 512 KB in flight. Pulls are sent by
servers, pushes by workers. Targets (Harmony, W.-Y. Lee 2020, section 4.3.1: the secondary subtask
uses the network "whenever available, while yielding"): a transfer of the primary job takes at most
5 % longer than alone, and the secondary job gets at least 80 % of what the primary one leaves.
`neither yields`: both without lanes, as with a semaphore of two.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

from motet.transport import (
    Call,
    Connection,
    Endpoint,
    LinkUse,
    Request,
    Server,
    SharedLink,
    use_short_switch_interval,
)
from motet.transport.lanes import NO_LANE, PRIMARY, SECONDARY
from support.figures import Figure, parser, report
from support.hosts import MOTET, hosts_up

NAME, SECRET = "nettokens", bytes(32)
PULL, PUSH = 1, 2
PRIMARY_BYTES, SECONDARY_BYTES, IN_FLIGHT = 4 << 20, 512 << 10, 4
MOST_SLOWER, LEAST_OF_REST = 1.05, 0.8
PORTS = {"first": 7721, "second": 7722}


@dataclass(frozen=True)
class Load:
    """What a worker does until it is told to stop."""

    kind: int
    lane: int
    size: int
    in_flight: int = 1
    pause_s: float = 0.0


@dataclass(frozen=True)
class Transfers:
    """When each transfer began and ended, on the clock of the machine."""

    size: int
    spans_s: list[tuple[float, float]]

    @property
    def mean_s(self) -> float:
        """Of one transfer."""
        return mean(end - begin for begin, end in self.spans_s)

    @property
    def window_s(self) -> tuple[float, float]:
        """From the first begin to the last end."""
        return self.spans_s[0][0], self.spans_s[-1][1]

    def bytes_in(self, window_s: tuple[float, float]) -> float:
        """Bytes moved within a window, by their part of a transfer at its edges."""
        total = 0.0
        for begin, end in self.spans_s:
            inside_s = min(end, window_s[1]) - max(begin, window_s[0])
            total += self.size * max(inside_s, 0) / (end - begin)
        return total


def serve(host: str, port: int, link: Path) -> None:
    """A job's server, until its input ends."""
    use_short_switch_interval()
    data = np.ones(PRIMARY_BYTES, np.uint8)

    def handle(request: Request) -> None:
        size = int.from_bytes(request.meta, "little")
        request.reply(0, b"", [data[:size]] if request.kind == PULL else [])

    with Server(handle, SECRET, host, port, link=SharedLink(link)):
        print("listening", flush=True)
        sys.stdin.read()


def work(host: str, port: int, link: Path) -> None:
    """A job's worker: every line of its input is a load, and the next line its end."""
    use_short_switch_interval()
    lane = [NO_LANE]
    use = LinkUse(SharedLink(link), lambda: lane[0])
    with Connection(Endpoint(host, port), SECRET, use=use) as connection:
        print("connected", flush=True)
        for line in sys.stdin:
            load = Load(**json.loads(line))
            lane[0] = load.lane
            ends = threading.Event()
            threading.Thread(target=_await_end, args=(ends,)).start()
            print(json.dumps(_spans(connection, load, ends)), flush=True)


def _await_end(ends: threading.Event) -> None:
    sys.stdin.readline()
    ends.set()


def _spans(connection: Connection, load: Load, ends: threading.Event) -> list[tuple[float, float]]:
    payload = np.ones(load.size, np.uint8)

    def begun() -> tuple[float, Call]:
        began_s, meta = time.monotonic(), load.size.to_bytes(8, "little")
        return began_s, connection.submit(load.kind, meta, [payload] if load.kind == PUSH else ())

    spans: list[tuple[float, float]] = []
    flying = [begun() for _ in range(load.in_flight)]
    while flying:
        began_s, call = flying.pop(0)
        call.wait()
        spans.append((began_s, time.monotonic()))
        if not ends.wait(load.pause_s):
            flying.append(begun())
    # With several in flight, one after the other: each from the end of the one before.
    return [(max(b, spans[i - 1][1]) if i else b, e) for i, (b, e) in enumerate(spans)]


class Worker:
    """One of the two jobs' workers on its host."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._size = 0

    def begin(self, load: Load) -> None:
        """Carry out a load from now on."""
        self._size = load.size
        self._say(json.dumps(load.__dict__))

    def end(self) -> Transfers:
        """What was moved."""
        self._say("end")
        assert self._process.stdout is not None
        return Transfers(self._size, json.loads(self._process.stdout.readline()))

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


@dataclass(frozen=True)
class Share:
    """Of one kind of transfer: how much longer the primary ones take, and what the rest carries."""

    slower: float
    of_rest: float


def shared(
    first: Worker, second: Worker, kind: int, lanes: tuple[int, int], seconds: float
) -> Share:
    """Both jobs alone, then together, in one run."""
    alone = Load(kind, lanes[0], PRIMARY_BYTES)
    moved = _for(first, alone, seconds / 3)
    pause_s = moved.mean_s
    primary = Load(kind, lanes[0], PRIMARY_BYTES, pause_s=pause_s)
    secondary = Load(kind, lanes[1], SECONDARY_BYTES, IN_FLIGHT)
    calm = [_for(first, primary, seconds / 2)]
    filled = _for(second, secondary, seconds / 3)
    second.begin(secondary)
    time.sleep(pause_s)
    busy = _for(first, primary, seconds)
    beside = second.end()
    calm.append(_for(first, primary, seconds / 2))
    alone_s = mean(each.mean_s for each in calm)
    window_s = busy.window_s
    capacity = filled.bytes_in(filled.window_s) / (filled.window_s[1] - filled.window_s[0])
    rest = capacity * (window_s[1] - window_s[0]) - busy.bytes_in(window_s)
    return Share(busy.mean_s / alone_s, beside.bytes_in(window_s) / rest)


def _for(worker: Worker, load: Load, seconds: float) -> Transfers:
    worker.begin(load)
    time.sleep(seconds)
    return worker.end()


def main() -> None:
    """Servers on the first host, workers on the second one."""
    arguments = parser(main.__doc__ or "")
    arguments.add_argument("--role", choices=("serve", "work"))
    arguments.add_argument("--host")
    arguments.add_argument("--port", type=int)
    arguments.add_argument("--link", type=Path)
    given = arguments.parse_args()
    if given.role:
        {"serve": serve, "work": work}[given.role](given.host, given.port, given.link)
        return
    seconds = 5.0 if given.quick else 20.0
    figures = []
    with hosts_up(NAME, "--machines", "2", "--bandwidth", "100mbit", "--no-ray"), _jobs() as jobs:
        for kind, name in ((PULL, "pull"), (PUSH, "push")):
            share = shared(*jobs, kind, (PRIMARY, SECONDARY), seconds)
            figures += [
                _figure(f"{name}: primary, times as long", share.slower, MOST_SLOWER, False),
                _figure(f"{name}: secondary, of the rest", share.of_rest, LEAST_OF_REST, True),
            ]
            plain = shared(*jobs, kind, (NO_LANE, NO_LANE), seconds)
            figures += [
                _figure(f"{name}, neither yields: times as long", plain.slower, None, False),
                _figure(f"{name}, neither yields: of the rest", plain.of_rest, None, True),
            ]
    report("network_tokens", "Primary and secondary network token on one link", figures)


def _figure(name: str, value: float, target: float | None, at_least: bool) -> Figure:
    return Figure(name, f"{value:.3f}", "", value, target, at_least)


@contextlib.contextmanager
def _jobs() -> Iterator[tuple[Worker, Worker]]:
    status = subprocess.run(
        [*MOTET, "testbed", "status", "--name", NAME, "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    hosts = json.loads(status.stdout)["hosts"]
    address = next(each["address"] for each in hosts if each["host"] == "m0")
    processes = []
    try:
        for role, host in (("serve", "m0"), ("work", "m1")):
            processes += [_started(role, host, address, port) for port in PORTS.values()]
        yield Worker(processes[2]), Worker(processes[3])
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for host in ("m0", "m1"):
            _link(host).unlink(missing_ok=True)


def _started(role: str, host: str, address: str, port: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [
            *[*MOTET, "testbed", "exec", host, "--name", NAME, "--", sys.executable, __file__],
            *["--role", role, "--host", address, "--port", str(port), "--link", str(_link(host))],
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _link(host: str) -> Path:
    return Path(f"/tmp/motet-{NAME}-{host}.link")


if __name__ == "__main__":
    main()
