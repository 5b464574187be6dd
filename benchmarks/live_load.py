"""The live master under load: 10,000 jobs wait and 1,000 run on 200 fake machines of 8 slots.

100 requests a second, of which 20 submit and 80 read (pages of the list, jobs, explanations), while
gangs end and start. Targets: a step of the master, decision included, under 1 s; 99 % of the
requests under 100 ms; nothing holds the GIL of the server over 50 ms. Memory, the growth of the
journal, the time of a start, and how many records a journal takes per second are reported. Client,
server and launcher share the machine.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import httpx
import psutil

from motet.interfaces.server_address import TOKEN_FILE
from motet.live.journal.record import Record
from motet.live.journal.store import JournalStore
from support.figures import Figure, parser, report

CLUSTER, POLICY, MEAN_S = "200x8", "tiresias-las", "900"
JOBS, SUBMITTERS = 11_000, 16
PER_S, SUBMITTED = 100, 0.2
GIL_MS = 50.0
COMMITS, RECORD_BYTES = {1: 1000, 20: 200, 200: 50}, 300
"""How often so many records are appended at once; their text in bytes."""
Step: TypeAlias = tuple[int, float, float]
Gap: TypeAlias = tuple[float, float]
SERVER = Path(__file__).parent / "support" / "loaded_server.py"
SIZES, WEIGHTS = (1, 2, 4, 8), (75, 15, 7, 3)


class LoadedServer:
    """A server process. `started_s`: how long it took to read its journal."""

    def __init__(self, folder: Path, policy: str = POLICY) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, SERVER, folder, CLUSTER, policy, MEAN_S],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        seconds, url = self._process.stdout.readline().split()
        self.started_s = float(seconds)
        token = (folder / TOKEN_FILE).read_text().strip()
        self.http = httpx.Client(
            base_url=f"{url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=100,
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=64),
        )

    def measured(self) -> tuple[list[Step], list[Gap]]:
        """Inputs, wall seconds and CPU-seconds of every step since the last call; CPU-seconds and
        wall seconds of gaps in which no other thread had the GIL."""
        found = self._folder / "steps.json"
        found.unlink(missing_ok=True)
        self._process.send_signal(signal.SIGUSR1)
        while not found.exists():
            time.sleep(0.01)
        taken = json.loads(found.read_text())
        return [tuple(each) for each in taken["steps"]], [tuple(each) for each in taken["gaps"]]

    @property
    def process(self) -> psutil.Process:
        """The server alone."""
        return psutil.Process(self._process.pid)

    def memory_bytes(self) -> int:
        """Of the server alone."""
        return int(self.process.memory_info().rss)

    def end(self) -> None:
        """As an administrator does."""
        self._process.terminate()
        self._process.wait()


def submit(http: httpx.Client, numbers: random.Random) -> None:
    """A job of a random size."""
    (processes,) = numbers.choices(SIZES, WEIGHTS)
    spec = {"name": "train", "run": "python train.py", "processes": processes, "workdir": "/"}
    http.post("/jobs", json=spec).raise_for_status()


def read(http: httpx.Client, numbers: random.Random) -> None:
    """A page of the list, a job or its explanation."""
    job = numbers.randrange(1, JOBS)
    path: str = numbers.choice(
        [f"/jobs/{job}", f"/jobs/{job}/explain", f"/jobs?after={job}", "/jobs?state=PENDING"]
    )
    http.get(path).raise_for_status()


def fill(server: LoadedServer) -> float:
    """Submit the jobs; returns how many per second."""
    numbers, began_s = random.Random(0), time.perf_counter()
    with ThreadPoolExecutor(SUBMITTERS) as pool:
        list(pool.map(lambda _: submit(server.http, numbers), range(JOBS)))
    return JOBS / (time.perf_counter() - began_s)


def load(server: LoadedServer, seconds: float) -> dict[str, list[float]]:
    """Latencies of requests that are sent at their times, however late the answers come."""
    numbers = random.Random(1)
    found: dict[str, list[float]] = {"submit": [], "read": []}

    def ask(kind: str, due_s: float, send: Callable[[httpx.Client, random.Random], None]) -> None:
        send(server.http, numbers)
        found[kind].append(time.perf_counter() - due_s)

    with ThreadPoolExecutor(64) as pool:
        began_s = time.perf_counter()
        for number in range(int(seconds * PER_S)):
            due_s = began_s + number / PER_S
            time.sleep(max(0.0, due_s - time.perf_counter()))
            kind = "submit" if numbers.random() < SUBMITTED else "read"
            pool.submit(ask, kind, due_s, submit if kind == "submit" else read)
    return found


def percentile(values: list[float], share: float) -> float:
    """Of the sorted values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    """Fill the queue, send requests, start again from the journal."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    with TemporaryDirectory() as home:
        folder = Path(home) / "state"
        server = LoadedServer(folder)
        per_s = fill(server)
        while state_count(server, "RUNNING") < 900:
            time.sleep(0.1)
        server.measured()
        seconds, written = 10 if arguments.quick else 60, journal_bytes(folder)
        latencies = load(server, seconds)
        (steps, gaps), memory = server.measured(), server.memory_bytes()
        written = journal_bytes(folder) - written
        server.end()
        size = journal_bytes(folder)
        server = LoadedServer(folder)
        started_s = server.started_s
        server.end()
        throughput = [*journal_figures(Path(home) / "throughput.db")]
    figures = [*figures_of(latencies, steps), gil_figure(gaps)]
    figures += [
        Figure(
            "journal", f"{written / 1e3 / seconds:,.0f} kB/s", f"{len(steps) / seconds:.0f} steps/s"
        ),
        Figure("submissions while the queue was filled", f"{per_s:,.0f} /s"),
        Figure("memory of the server", f"{memory / 1e6:,.0f} MB"),
        Figure("start from this journal", f"{started_s:.1f} s", f"{size / 1e6:,.0f} MB"),
        *throughput,
    ]
    report("live_load", "The live master, 10,000 jobs wait and 1,000 run", figures)


def journal_figures(path: Path) -> Iterator[Figure]:
    """Records that are on the disk, per second."""
    with JournalStore(str(path)) as store:
        for size, times in COMMITS.items():
            began_s = time.perf_counter()
            for _ in range(times):
                numbers = range(store.next_sequence, store.next_sequence + size)
                store.append(
                    [Record(each, 0, "x" * RECORD_BYTES, "[]", "[]", "") for each in numbers]
                )
            per_s = size * times / (time.perf_counter() - began_s)
            yield Figure(f"journal, {size} records a commit", f"{per_s:,.0f} records/s")


def journal_bytes(folder: Path) -> int:
    """Of the database with its log."""
    return sum(each.stat().st_size for each in folder.glob("journal.db*"))


def gil_figure(gaps: list[Gap]) -> Figure:
    """The longest time for which a thread waited for the GIL, as CPU time of the process."""
    cpu_ms = [1e3 * cpu_s for cpu_s, _ in gaps]
    longest, late = max(cpu_ms), sum(each > GIL_MS for each in cpu_ms)
    details = f"99.9 % {percentile(cpu_ms, 0.999):.1f} CPU-ms, {late} of {len(gaps):,} above"
    name = "longest wait for the GIL"
    return Figure(name, f"{longest:.1f} CPU-ms", details, longest, GIL_MS, at_least=False)


def state_count(server: LoadedServer, state: str) -> int:
    """Jobs in a state, up to a page."""
    answer = server.http.get("/jobs", params={"state": state, "limit": 1000})
    return len(answer.raise_for_status().json()["jobs"])


def figures_of(latencies: dict[str, list[float]], steps: list[Any]) -> list[Figure]:
    """Requests by kind, then steps."""
    figures = [
        Figure(
            f"{kind}, 99 % of {len(taken):,} requests",
            f"{1e3 * percentile(taken, 0.99):.1f} ms",
            f"median {1e3 * statistics.median(taken):.1f} ms",
            1e3 * percentile(taken, 0.99),
            100.0,
            at_least=False,
        )
        for kind, taken in latencies.items()
    ]
    taken = [wall for inputs, wall, _ in steps if inputs]
    longest, middle = max(taken), statistics.median(taken)
    steps_text = f"longest of {len(taken):,} steps"
    figures.append(
        Figure(
            steps_text, f"{longest:.3f} s", f"median {middle:.4f} s", longest, 1.0, at_least=False
        )
    )
    return figures


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
