"""What API, page and metrics show of the memory that a cluster lends."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from motet.interfaces.server.accounts.caller_of_request import SCOPE_KEY
from motet.interfaces.server.memory.documents import memory_document
from motet.interfaces.server.memory.lender_figures import LenderFigures
from motet.interfaces.server.memory.lending_watch import LendingWatch
from motet.interfaces.server.memory.memory_page import memory_values
from motet.interfaces.server.memory.routes import NO_MEMORY
from motet.interfaces.server.web import pages
from motet.interfaces.server.web.renderer import PageRenderer
from motet.live.accounts.roles import Caller, UserRole
from motet.live.lent_memory.cluster_lenders import LenderStatus, LendingOptions
from motet.live.lent_memory.cluster_memory import MemoryStatus
from motet.live.master.facts import MemoryBorrowed
from motet.live.master.requests import Workplace
from motet.remote_memory.wire.memory_views import LenderView
from scripted_cluster import ScriptedCluster

GB = 10**9
DOCUMENTED = Path(__file__).parents[4] / "docs/memory.md"
VIEW = LenderView(
    address="127.0.0.1:7400",
    slab_bytes=1 << 30,
    total_bytes=16 << 30,
    used_bytes=4 << 30,
    head_room_bytes=2 << 30,
    free_slabs=2,
    mapped_slabs=4,
    evicting_slabs=1,
    evicted=7,
    revoked=1,
    clients={"run:motet-1-a.2/11": 2, "run:motet-1-a.2/22": 1, "swap/33": 1},
    requested_bytes=1 << 30,
    borrowed_byte_s={"run:motet-1-a.2": 3600.0 * GB, "swap/33": 1e12},
)
STATUS = MemoryStatus(
    (LenderStatus(0, "m0", VIEW, ""), LenderStatus(1, "m1", None, "no <answer>")),
    {"motet-1-a.2": (1, 2)},
)
OPTIONS = LendingOptions(1 << 30, most=8 << 30)


@pytest.fixture
def document(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Of job 1, whose first attempt has borrowed, too."""
    cluster = ScriptedCluster(tmp_path)
    job = cluster.submit(1, name="array")
    cluster.ask(cluster.launcher.ended(f"{job}.1", None, "lost"))
    cluster.until_started(job)
    cluster.ask(MemoryBorrowed(job, 1, {"0": 7200 * GB}))
    yield memory_document(STATUS, OPTIONS, cluster.master.state)
    cluster.close()


def test_a_replaced_lender_keeps_its_place_among_the_machines(tmp_path: Path) -> None:
    """It has a larger number than those that were started before it."""
    cluster = ScriptedCluster(tmp_path)
    lenders = (LenderStatus(1, "m1", VIEW, ""), LenderStatus(2, "m0", VIEW, ""))
    found = memory_document(MemoryStatus(lenders, {}), OPTIONS, cluster.master.state)
    assert [each["machine"] for each in found["lenders"]] == ["m0", "m1"]
    cluster.close()


def test_lenders_name_the_jobs_that_have_their_slabs(document: dict[str, Any]) -> None:
    first, second = document["lenders"]
    assert (first["machine"], first["is_running"], first["job_ids"]) == ("m0", True, ["1"])
    assert (first["free_slabs"], first["mapped_slabs"], first["evicted"]) == (2, 4, 7)
    assert (second["is_running"], second["reason"]) == (False, "no <answer>")
    assert (second["free_slabs"], second["job_ids"]) == (0, [])


def test_a_job_is_shown_with_all_that_its_attempts_have_borrowed(document: dict[str, Any]) -> None:
    (job,) = document["jobs"]
    assert (job["id"], job["name"], job["user"], job["attempt"]) == ("1", "array", "ann", 2)
    assert (job["slabs"], job["bytes"], job["machines"]) == (3, 3 << 30, {"m0": 3})
    assert job["borrowed_gb_hours"] == pytest.approx(3.0)


def rendered(values: dict[str, Any], template: str = "memory.html") -> str:
    """The text of the page, without its tags."""
    scope = {
        "type": "http",
        "path": "/memory",
        "query_string": b"",
        "headers": [],
        SCOPE_KEY: Caller("ann", UserRole.USER, "t1"),
    }
    page = bytes(PageRenderer().render(Request(scope), template, values).body).decode()
    assert "<answer>" not in page
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", page).split()))


def test_the_page_shows_who_lends_and_who_borrows(document: dict[str, Any]) -> None:
    text = rendered(memory_values(document))
    assert "4 GiB lent, 2 GiB to be lent, in slabs of 1 GiB; at most 8 GiB per machine" in text
    assert "m0 EVICTING" in text
    assert "m1 AWAY no <answer>" in text
    assert "array ann 2 3 GiB 3 m0 × 3 3" in text


def test_parts_of_a_bar_are_parts_of_the_whole_memory(document: dict[str, Any]) -> None:
    bar = memory_values(document)["lenders"][0]["bar"]
    assert [part["width"] for part in bar] == [25.0, 6.25, 18.75, 6.25, 12.5]
    assert [part["x"] for part in bar] == [0.0, 25.0, 31.25, 50.0, 56.25]


def test_the_page_of_a_job_shows_what_it_has_borrowed(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path)
    job = cluster.submit(1, name="array")
    cluster.ask(MemoryBorrowed(job, 1, {"0": 7200 * GB}))
    state = cluster.master.state
    values = {
        **pages.common(state),
        "job": pages.job(state, job, Workplace(tmp_path, {}), cluster.now_us, []),
        "bars": [],
        "ticks": [],
        "log": None,
        "curves": None,
        "spec": "",
        "expected_start": "",
        "is_usable": False,
    }
    assert "Borrowed memory 2 GB·hours; lenders" in rendered(values, "job.html")
    cluster.close()


def test_a_cluster_that_lends_nothing_says_how_it_would() -> None:
    assert "start its server with --lend-memory" in rendered({"problem": NO_MEMORY})


def test_every_figure_of_a_lender_is_documented() -> None:
    families = [*LenderFigures("m0", lambda: VIEW).collect()]
    told = DOCUMENTED.read_text(encoding="utf-8")
    names = [family.name + ("_total" if family.type == "counter" else "") for family in families]
    assert [name for name in names if f"`{name}`" not in told] == []
    samples = {
        (sample.name, sample.labels.get("state")): sample.value
        for family in families
        for sample in family.samples
    }
    assert samples["motet_memory_slabs", "lent"] == 3
    assert samples["motet_memory_slabs", "evicting"] == 1
    assert samples["motet_memory_evicted_slabs_total", None] == 7


def test_open_pages_are_renewed_when_they_would_show_something_else() -> None:
    changes: list[None] = []
    watch = LendingWatch(lambda: changes.append(None))
    watch.seen(STATUS)
    used = replace(VIEW, used_bytes=VIEW.used_bytes + 1, borrowed_byte_s={})
    watch.seen(replace(STATUS, lenders=(replace(STATUS.lenders[0], view=used), STATUS.lenders[1])))
    assert len(changes) == 1
    watch.seen(MemoryStatus((), {}))
    assert len(changes) == 2
