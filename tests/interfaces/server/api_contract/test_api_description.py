"""Requests that schemathesis makes from the OpenAPI document: none meets an error of the server,
and every answer is as the document says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from jsonschema_rs import validator_for
from schemathesis.checks import CHECKS, load_all_checks

from live_server import LiveServer, running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from plain_http import NO_TLS

pytestmark = pytest.mark.cluster

DOCUMENT = "/api/v1/openapi.json"
SIMULATING = ("/api/v1/whatif", "/api/v1/dry-run")
"""A process of some seconds for each request."""
EVENTS = "/api/v1/events"
"""A stream that does not end."""
LINES = "application/x-ndjson"
WANTED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "ignored_auth",
)
load_all_checks()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """With a job that is over and no machine for another one."""
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        with LiveClient(ServerAddress.find(folder=found.folder)) as client:
            client.drain_machine("m0", "no job of these tests may run")
            job = client.submit({"name": "job", "run": "true", "workdir": "/"})["id"]
            client.change(job, "cancel")
        yield found


@pytest.fixture(scope="module")
def described(server: LiveServer) -> schemathesis.BaseSchema:
    address = ServerAddress.find(folder=server.folder)
    headers = {"Authorization": f"Bearer {address.token}"}
    schema = schemathesis.openapi.from_url(address.url + DOCUMENT, headers=headers)
    schema.config.update(headers=headers)
    return schema


def check_operations(
    schema: schemathesis.BaseSchema, examples: int, of_simulations: int
) -> Counter[int]:
    """Returns how often each status was answered. `of_simulations`: examples of these; 0: none."""
    chosen = [CHECKS.get_one(name) for name in WANTED]
    statuses = Counter[int]()
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == EVENTS:
            continue
        count = of_simulations if operation.path in SIMULATING else examples
        if not count:
            continue

        @given(case=operation.as_strategy())
        @settings(max_examples=count, deadline=None, suppress_health_check=[*HealthCheck])
        def answers_are_as_described(case: schemathesis.Case) -> None:
            statuses[case.call_and_validate(checks=chosen, timeout=100).status_code] += 1

        answers_are_as_described()
    return statuses


@pytest.mark.soak
def test_answers_are_as_the_document_says(described: schemathesis.BaseSchema) -> None:
    statuses = check_operations(described, 12, 0)
    assert min(statuses[200], statuses[404], statuses[422]) > 20, statuses
    assert not statuses[401], statuses


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_answers_are_as_the_document_says(described: schemathesis.BaseSchema) -> None:
    assert check_operations(described, 300, 15)[200] > 300


def test_the_document_needs_a_token_as_all_else(server: LiveServer) -> None:
    url = ServerAddress.find(folder=server.folder).url
    assert httpx.get(url + DOCUMENT, verify=NO_TLS).status_code == 401


def test_the_stream_of_events_is_described(described: schemathesis.BaseSchema) -> None:
    answers = described.raw_schema["paths"][EVENTS]["get"]["responses"]
    assert [*answers["200"]["content"]] == ["text/event-stream"]


def test_the_lines_of_a_dry_run_are_as_described(
    server: LiveServer, described: schemathesis.BaseSchema
) -> None:
    content = described.raw_schema["paths"]["/api/v1/dry-run"]["post"]["responses"]["200"][
        "content"
    ]
    assert sorted(content) == ["application/json", LINES]
    address = ServerAddress.find(folder=server.folder)
    lines = []
    for job in ({"name": "job", "run": "true", "workdir": "/"}, {"name": "job"}):
        answer = httpx.post(
            f"{address.url}/api/v1/dry-run",
            headers={"Authorization": f"Bearer {address.token}", "Accept": LINES},
            json=job,
            timeout=200,
            verify=NO_TLS,
        )
        assert (answer.status_code, answer.headers["content-type"]) == (200, LINES)
        lines.append([json.loads(line) for line in answer.text.splitlines()])
    schema = validator_for(content[LINES]["schema"])
    for line in (*lines[0], *lines[1]):
        schema.validate(line)
    assert ["answer" in lines[0][-1], lines[1][-1]["status"]] == [True, 422]
    assert {*lines[0][0], *lines[1][0]} == {"phase"}
