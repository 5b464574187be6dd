"""/metrics of a real server, read by the parser of Prometheus, and the dashboard that shows it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOB = {"name": "job", "run": "true", "workdir": "/"}
DASHBOARD = Path(__file__).parents[4] / "docs/_static/grafana-dashboard.json"
DOCUMENTED = Path(__file__).parents[4] / "docs/operating.md"
SUFFIXES = re.compile("_(bucket|sum|count)$")
OF_LENDERS = "motet_memory_"
"""Metrics of a server that lends memory."""


class Scraped:
    """Samples by name and labels."""

    def __init__(self, text: str) -> None:
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """Zero if there is no such sample, as `rate` of Prometheus takes it."""
        return self.samples.get((name, frozenset(labels.items())), 0.0)

    def names(self) -> set[str]:
        return {name for name, _ in self.samples}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "2x2", "--policy", "srtf") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


def scrape(server: LiveServer) -> Scraped:
    address = ServerAddress.find(folder=server.folder)
    headers = {"Authorization": f"Bearer {address.token}"}
    answer = httpx.get(f"{address.url}/metrics", headers=headers, verify=NO_TLS)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return Scraped(answer.text)


def names_in(found: Scraped) -> set[str]:
    """Of all metrics; those of a histogram have one name."""
    names = {SUFFIXES.sub("", name) for name in found.names()}
    return {name for name in names if not name.endswith("_created")}


def until(server: LiveServer, reached: Callable[[Scraped], bool]) -> Scraped:
    """Metrics follow a step before it is answered, and processes on their own."""
    found = [scrape(server)]

    def is_reached() -> bool:
        found[0] = scrape(server)
        return reached(found[0])

    wait_until(is_reached)
    return found[0]


def test_metrics_follow_jobs(server: LiveServer, client: LiveClient) -> None:
    before = scrape(server)
    assert before.value("motet_slots", state="free") == 4
    assert before.value("motet_machines", state="up") == 2
    assert "motet_gpu_usage_ratio" not in before.names()  # No machine has GPUs.
    holder = client.submit({**JOB, "run": "sleep 600", "processes": 4, "duration_s": 600})["id"]
    busy = until(server, lambda now: now.value("motet_jobs", state="RUNNING", queue="default") == 1)
    assert (busy.value("motet_slots", state="used"), busy.value("motet_slot_usage_ratio")) == (4, 1)
    short = client.submit({**JOB, "processes": 4, "duration_s": 1})["id"]  # srtf preempts the other
    assert ended(client, short)["state"] == "SUCCEEDED"
    failed = client.submit({**JOB, "run": "no-such-program", "duration_s": 1})["id"]
    assert ended(client, failed)["state"] == "FAILED"
    client.change(holder, "cancel")
    after = until(server, lambda now: now.value("motet_slots", state="free") == 4)
    assert after.value("motet_jobs_submitted_total", queue="default") == 3
    for state in ("SUCCEEDED", "FAILED", "CANCELLED"):
        assert after.value("motet_jobs_finished_total", state=state) == 1
        assert after.value("motet_jobs", state=state, queue="default") == 1
    assert after.value("motet_preemptions_total") >= 1
    assert after.value("motet_failures_total", **{"class": "missing_command"}) == 1
    assert after.value("motet_job_wait_seconds_count") == 3
    for name in (
        "motet_schedule_duration_seconds_count",
        "motet_journal_append_duration_seconds_count",
        "motet_journal_records_total",
        "motet_journal_bytes_total",
    ):
        assert after.value(name) > before.value(name)


def test_a_job_that_waits_is_in_the_length_of_its_queue(
    server: LiveServer, client: LiveClient
) -> None:
    client.create_queue("vision")
    client.submit({**JOB, "run": "sleep 600", "processes": 4, "duration_s": 1})
    client.submit({**JOB, "processes": 4, "queue": "vision", "duration_s": 600})
    found = scrape(server)
    assert found.value("motet_queue_length", queue="vision") == 1
    assert found.value("motet_queue_length", queue="default") == 0


def test_a_drained_machine_has_closed_slots(server: LiveServer, client: LiveClient) -> None:
    client.drain_machine("m1", "new disk")
    found = scrape(server)
    assert found.value("motet_machines", state="drained") == 1
    assert found.value("motet_slots", state="closed") == 2
    client.resume_machine("m1")
    assert scrape(server).value("motet_machines", state="up") == 2


def test_a_launcher_that_was_killed_is_a_restart(server: LiveServer) -> None:
    [pid] = server.launchers()
    assert scrape(server).value("motet_launcher_restarts_total") == 0
    os.kill(pid, signal.SIGKILL)
    until(server, lambda now: now.value("motet_launcher_restarts_total") == 1)


def test_requests_are_measured_by_route(server: LiveServer, client: LiveClient) -> None:
    name = "motet_http_request_duration_seconds_count"
    number = client.submit({**JOB, "duration_s": 1})["id"]
    client.job(number)
    client.job(number)
    url = ServerAddress.find(folder=server.folder).url
    httpx.get(f"{url}/api/v1/{number}/secret-path", verify=NO_TLS)
    found = scrape(server)
    route = "/api/v1/jobs/{number}"
    assert found.value(name, method="GET", route=route, status="200") == 2
    assert found.value(name, method="GET", route="none", status="401") == 1
    assert not any("secret-path" in value for _, labels in found.samples for _, value in labels)


def test_a_restarted_server_counts_from_its_start(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        with server.start() as client:
            ended(client, client.submit(JOB)["id"])
        server.end()
        server.start().__exit__(None, None, None)
        found = scrape(server)
        assert found.value("motet_jobs", state="SUCCEEDED", queue="default") == 1
        assert found.value("motet_jobs_finished_total", state="SUCCEEDED") == 0
    finally:
        server.kill_everything()


def test_metrics_need_a_token_unless_they_are_open(server: LiveServer, tmp_path: Path) -> None:
    url = ServerAddress.find(folder=server.folder).url
    assert httpx.get(f"{url}/metrics", verify=NO_TLS).status_code == 401
    with running_server(tmp_path / "open", "--cluster", "1x1", "--metrics-open") as other:
        url = ServerAddress.find(folder=other.folder).url
        assert httpx.get(f"{url}/metrics", verify=NO_TLS).status_code == 200
        assert (
            httpx.get(f"{url}/metrics", headers={"Host": "evil.example"}, verify=NO_TLS).status_code
            == 421
        )
        assert httpx.get(f"{url}/api/v1/jobs", verify=NO_TLS).status_code == 401


def labels_asked_for(target: dict[str, str]) -> set[str]:
    """By the query of a panel and its legend."""
    grouped = re.findall(r"\bby \(([^)]*)\)", target["expr"])
    return {
        *re.findall(r'(\w+)\s*[=!][=~]?"', target["expr"]),
        *(each.strip() for names in grouped for each in names.split(",")),
        *re.findall(r"{{(\w+)}}", target["legendFormat"]),
    }


def labels_of(found: Scraped, expression: str) -> set[str]:
    """Of the metrics in a query."""
    asked = set(re.findall(r"\b(?:motet|process)_\w+", expression))
    return {label for name, labels in found.samples if name in asked for label, _ in labels}


def test_documentation_and_dashboard_have_every_metric_and_gpus_are_counted(tmp_path: Path) -> None:
    with (
        running_server(tmp_path / "state", "--cluster", "1x4", "--gpus", "0,1,2,3") as server,
        LiveClient(ServerAddress.find(folder=server.folder)) as client,
    ):
        ended(client, client.submit({**JOB, "run": "exit 3"})["id"])
        client.submit({**JOB, "run": "sleep 600", "processes": 3})
        found = until(server, lambda now: now.value("motet_gpu_usage_ratio") == 3 / 4)
    known = names_in(found)
    told = set(re.findall(r"`(motet_\w+)`", DOCUMENTED.read_text()))
    assert {name for name in known if name.startswith("motet_")} == told
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    shown = {name for each in expressions for name in re.findall(r"\b(?:motet|process)_\w+", each)}
    of_server = {SUFFIXES.sub("", name) for name in shown if not name.startswith(OF_LENDERS)}
    assert of_server - known == set()
    assert told - of_server == set()
    for panel in panels:
        for target in panel.get("targets", ()):
            if OF_LENDERS not in target["expr"]:
                assert labels_asked_for(target) - labels_of(found, target["expr"]) == set()
