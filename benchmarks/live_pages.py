"""The pages of the live cluster: 50,000 jobs, of which 10,000 wait, and a million events.

While 20 jobs a second are submitted and others end, every order, filter and first and last page of
the list, and the other pages, with the 200 replays that a server keeps, are requested one after
another. Targets: 95 % of the requests of every kind under 100 ms, a page at most 200 KB, and 300 ms
until a browser has the document (DOMContentLoaded). Client, browser and server share the machine;
the figures are wall time, with the CPU time of the server
during a request (median, 95 %), the work for the writer included, beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import httpx
import psutil

from live_load import CLUSTER, LoadedServer, percentile, submit
from motet.domain.cluster import ClusterSpec
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.interfaces.forecasts.replay.what_if_summary import what_if_summary
from motet.interfaces.server.what_if.replay_store import (
    MOST,
    ReplayState,
    ReplayStore,
    WantedReplay,
)
from motet.interfaces.server_address import TOKEN_FILE
from motet.live.master.facts import ClusterDeclared
from motet.live.read_tables.read_tables import SORT_COLUMNS
from support.figures import Figure, parser, report
from support.page_journal import USERS, PageJournal

JOBS, PENDING, REPORTS = 50_000, 10_000, 10
REPLAYED = 5_000
SLOTS, SUBMITTED_PER_S = 1600, 20
MOST_MS, MOST_LOADED_MS, MOST_KB = 100.0, 300.0, 200.0
LISTS = {
    f"sorted by {column}": [
        f"/jobs?sort={column}&order={order}&page={page}"
        for order, page in product(("asc", "desc"), (1, -1))
    ]
    for column in SORT_COLUMNS
}
FILTERS = {
    "filtered by state": ["/jobs?state=PENDING", "/jobs?state=FAILED&page=-1&sort=name"],
    "filtered by queue and user": ["/jobs?queue=team3&page=-1", "/jobs?user=user5&sort=name"],
    "filtered by name": ["/jobs?name=bert", "/jobs?name=bert-4&sort=ended_us&page=-1"],
}
OTHERS = {
    "overview": ["/"],
    "a job": ["/jobs/100", "/jobs/4000"],
    "machines": ["/machines"],
    "decisions": ["/decisions", "/decisions?page=9"],
    "timeline": ["/timeline?minutes=10080", "/timeline"],
    "queues": ["/queues"],
    "what-if": ["/whatif"],
    "a replay": ["/whatif/1"],
    "two replays": ["/whatif/1?with=2"],
    "signing in": ["/login"],
}


def fill(folder: Path, jobs: int) -> int:
    """Write the journal; returns how many events it has."""
    spec = ClusterSpec.parse(CLUSTER)
    cluster = ClusterDeclared(spec.names, tuple(spec.gpus.tolist()))
    journal = PageJournal(folder, cluster, "fifo", time.time_ns() // 1000 - 5 * 86_400_000_000)
    stays = jobs * PENDING // JOBS + SLOTS
    journal.run_jobs(jobs - stays, REPORTS)
    journal.queue_jobs(stays)
    journal.close()
    return journal.events


def keep_replays(folder: Path) -> None:
    """As many replays as a server keeps, each with the result of one: the size of a result does not
    depend on the number of jobs, so a short journal gives it."""
    with TemporaryDirectory() as home:
        fill(Path(home), REPLAYED)
        followed = FollowedJournal(str(Path(home) / "journal.db"))
        found = json.dumps(what_if_summary(what_if(followed, WhatIfQuestion("tiresias-las"))))
        followed.close()
    store, now_us = ReplayStore(folder), time.time_ns() // 1000
    store.open(now_us)
    for number in range(MOST):
        replay = store.add(f"user{number % USERS}", WantedReplay("tiresias-las"), now_us)
        store.end(replay, ReplayState.DONE, now_us, "", found)
    store.close()


def cpu_ms(pid: int) -> float:
    """CPU time of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


@contextmanager
def busy_writer(server: LoadedServer) -> Iterator[None]:
    """Submits jobs until the block ends."""
    has_ended, numbers = threading.Event(), Random(0)

    def run() -> None:
        while not has_ended.wait(1 / SUBMITTED_PER_S):
            submit(server.http, numbers)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def measured(
    http: httpx.Client, server: psutil.Process, repetitions: int, chosen: Sequence[str]
) -> list[Figure]:
    """Every kind of page, or the chosen ones."""
    figures, largest = [], 0
    for kind, paths in {**LISTS, **FILTERS, **OTHERS}.items():
        if chosen and kind not in chosen:
            continue
        taken, used = list[float](), list[float]()
        for path in paths * repetitions:
            began_s, began_ms = time.perf_counter(), cpu_ms(server.pid)
            answer = http.get(path).raise_for_status()
            taken.append(1e3 * (time.perf_counter() - began_s))
            used.append(cpu_ms(server.pid) - began_ms)
            largest = max(largest, len(answer.content))
        latest = percentile(taken, 0.95)
        cpu = f"CPU {statistics.median(used):.0f}, {percentile(used, 0.95):.0f} ms"
        median = f"median {statistics.median(taken):.1f} ms; {cpu}"
        name = f"{kind}, 95 % of {len(taken)}"
        figures.append(Figure(name, f"{latest:.1f} ms", median, latest, MOST_MS, at_least=False))
    size_kb = largest / 1e3
    figures.append(
        Figure("largest page", f"{size_kb:.0f} KB", "", size_kb, MOST_KB, at_least=False)
    )
    return figures


def loaded(url: str, token: str, repetitions: int) -> Figure:
    """The list in a browser: until DOMContentLoaded, from the start of the navigation."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as running:
        program = shutil.which("chromium")
        browser = running.chromium.launch(executable_path=program, args=options)
        page = browser.new_page(base_url=url)
        page.goto("/login")
        page.fill("input[name=token]", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("nav")
        taken = list[float]()
        for _ in range(repetitions):
            page.goto("/jobs?sort=name&page=-1", wait_until="domcontentloaded")
            taken.append(
                page.evaluate(
                    "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
                )
            )
        browser.close()
    middle, latest = statistics.median(taken), percentile(taken, 0.95)
    text = f"median {middle:.0f} ms"
    name = f"DOMContentLoaded, 95 % of {repetitions}"
    return Figure(name, f"{latest:.0f} ms", text, latest, MOST_LOADED_MS, at_least=False)


def main() -> None:
    """Write the journal, serve it, request the pages."""
    options = parser(__doc__.splitlines()[0])
    options.add_argument("kinds", nargs="*", help="kinds of pages, as the table names them")
    arguments = options.parse_args()
    jobs, repetitions = (5_000, 3) if arguments.quick else (JOBS, 15)
    with TemporaryDirectory() as home:
        folder = Path(home) / "state"
        events = fill(folder, jobs)
        keep_replays(folder)
        server = LoadedServer(folder, "fifo")
        token = (folder / TOKEN_FILE).read_text().strip()
        url = str(server.http.base_url.copy_with(path="/"))
        bearer = {"Authorization": f"Bearer {token}"}
        try:
            with httpx.Client(base_url=url, headers=bearer) as http, busy_writer(server):
                figures = measured(http, server.process, repetitions, arguments.kinds)
                figures.append(loaded(url, token, repetitions))
            memory, started_s = server.memory_bytes(), server.started_s
        finally:
            server.end()
    figures += [
        Figure("start from this journal", f"{started_s:.1f} s", f"{events:,} events"),
        Figure("memory of the server", f"{memory / 1e6:,.0f} MB"),
    ]
    report("live_pages", f"The pages with {jobs:,} jobs", figures)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
