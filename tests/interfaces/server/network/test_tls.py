"""Servers that other machines reach: https with real certificates, and a proxy with a prefix."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from certificates import Authority
from live_server import LiveServer, running_server
from live_trainings import ended
from motet.domain.errors import BadInput, Unreachable
from motet.interfaces.cli.doctor.checks import server_checks
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOB = {"name": "job", "run": "true", "workdir": "/"}


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOTET_SERVER", "MOTET_TOKEN", "MOTET_CA_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    issued = authority.issue("localhost", "127.0.0.1")
    options = ["--tls-cert", str(issued.certificate), "--tls-key", str(issued.key)]
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1", "--host", "0.0.0.0", *options) as found:
        yield found


def port_of(server: LiveServer) -> int:
    return int(ServerAddress.find(folder=server.folder).url.rpartition(":")[2])


def test_commands_of_the_same_machine_need_no_option(server: LiveServer) -> None:
    address = ServerAddress.find(folder=server.folder)
    assert address.url.startswith("https://127.0.0.1:")
    with LiveClient(address) as client:
        assert ended(client, client.submit(JOB)["id"])["state"] == "SUCCEEDED"


def test_a_client_trusts_the_given_authority_alone(
    server: LiveServer, authority: Authority, tmp_path: Path
) -> None:
    address = ServerAddress.find(folder=server.folder)
    for ca_file, is_trusted in (
        (authority.file, True),
        (Authority(tmp_path).file, False),
        (None, False),
    ):
        with LiveClient(ServerAddress(address.url, address.token, ca_file)) as client:
            if is_trusted:
                assert client.machines()
            else:
                with pytest.raises(Unreachable, match=r"certificate verify failed.*--ca-file"):
                    client.machines()


def test_the_doctor_takes_an_untrusted_certificate_for_no_other_program(server: LiveServer) -> None:
    address = ServerAddress.find(folder=server.folder)
    with LiveClient(ServerAddress(address.url, address.token)) as client:
        (found,) = server_checks(client)
    assert (found.subject, found.verdict) == ("server", "wrong")
    assert "--ca-file" in found.message
    assert "another program" not in found.message


def test_a_certificate_of_another_name_is_refused(authority: Authority, tmp_path: Path) -> None:
    issued = Authority(tmp_path).issue("head.example")
    options = ["--tls-cert", str(issued.certificate), "--tls-key", str(issued.key)]
    with running_server(tmp_path / "state", "--cluster", "1x1", *options) as found:
        told = ServerAddress.find(folder=found.folder)
        assert told.url.startswith("https://head.example:")
        url = told.url.replace("head.example", "127.0.0.1")
        address = ServerAddress(url, told.token, tmp_path / "authority.pem")
        with LiveClient(address) as client, pytest.raises(Unreachable, match="certificate"):
            client.machines()


def test_a_file_without_certificates_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("hello")
    with pytest.raises(BadInput, match="not a file of PEM certificates"):
        LiveClient(ServerAddress("https://localhost:1", "t", tmp_path / "ca.pem"))


def test_a_client_without_tls_is_told_to_use_it(server: LiveServer) -> None:
    with (
        LiveClient(ServerAddress(f"http://127.0.0.1:{port_of(server)}", "t", None)) as client,
        pytest.raises(Unreachable, match="write https://"),
    ):
        client.machines()


def test_plain_http_and_old_versions_get_no_answer(server: LiveServer) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://127.0.0.1:{port_of(server)}/api/v1/health")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", port_of(server))) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        old.wrap_socket(plain)


def test_who_says_nothing_is_disconnected_before_tls_is_agreed(server: LiveServer) -> None:
    with (
        socket.create_connection(("127.0.0.1", port_of(server))) as silent,
        suppress(ConnectionResetError),
    ):
        assert silent.recv(1) == b""


def test_the_cookie_of_an_encrypted_server_travels_by_https_only(
    server: LiveServer, authority: Authority
) -> None:
    address = ServerAddress.find(folder=server.folder)
    trust = ssl.create_default_context(cafile=str(authority.file))
    answer = httpx.post(f"{address.url}/login", data={"token": address.token}, verify=trust)
    assert answer.status_code == 303
    assert "secure" in answer.headers["set-cookie"].lower()


def test_users_of_other_machines_read_unless_they_are_trusted(server: LiveServer) -> None:
    with LiveClient(ServerAddress.find(folder=server.folder)) as owner:
        assert owner.create_user("val", "viewer")["role"] == "viewer"
        with pytest.raises(BadInput, match="--trusted-users"):
            owner.create_user("bob", "user")


def test_a_server_in_the_clear_beyond_this_machine_does_not_start(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--cluster", "1x1", "--host", "0.0.0.0")
    with pytest.raises(AssertionError, match="tokens would travel unencrypted"):
        server.start()


def test_a_token_is_not_sent_in_the_clear_to_another_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "x" * 43)
    with pytest.raises(BadInput, match="your token would travel unencrypted"):
        ServerAddress.find("http://192.0.2.1:80", tmp_path)


def source_of(address: ServerAddress, action: str) -> str:
    """Of the latest request of this kind in the audit log, once it is there."""
    found: list[str] = []

    def is_there() -> bool:
        entries = owner.audit("", 100)
        found[:] = [each["source"] for each in entries if each["action"] == action]
        return bool(found)

    with LiveClient(address) as owner:
        wait_until(is_there)
    return found[0]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    options = ["--behind-proxy", "head.example", "--root-path", "/motet", "--trusted-users"]
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1", *options) as found:
        yield found


@pytest.mark.parametrize("prefix", ["/motet", ""])
def test_pages_below_a_root_path_link_to_each_other(proxied: LiveServer, prefix: str) -> None:
    """A proxy passes requests on with the prefix, or without it."""
    address = ServerAddress.find(folder=proxied.folder)
    assert address.url.endswith("/motet")
    origin = {"Host": "head.example", "Origin": "https://head.example"}
    base = address.url.removesuffix("/motet") + prefix
    with httpx.Client(headers=origin) as browser:
        asked = browser.get(f"{base}/jobs")
        assert asked.headers["location"] == "/motet/login?next=/jobs"
        form = browser.get(f"{base}/login?next=/jobs").text
        assert 'action="/motet/login"' in form
        answer = browser.post(f"{base}/login", data={"token": address.token, "next": "/jobs"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/motet/jobs")
        assert "; path=/motet;" in answer.headers["set-cookie"].lower()
        cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        page = browser.get(f"{base}/jobs", headers=cookie).text
        for link in (
            'href="/motet/static/motet.css"',
            'href="/motet/machines"',
            'data-root="/motet"',
        ):
            assert link in page
        assert 'hx-get="/motet/jobs"' in page
        assert '="/jobs' not in page
        assert browser.get(f"{base}/static/motet.css").status_code == 200
        with LiveClient(address) as client:
            job = client.submit({**JOB, "run": "sleep 600"})["id"]
        shown = browser.get(f"{base}/jobs?name=job", headers=cookie).text
        assert f'action="/motet/jobs/{job}/cancel"' in shown
        back = {**cookie, "Referer": "https://head.example/motet/jobs?page=1"}
        done = browser.post(f"{base}/jobs/{job}/cancel", headers=back)
        assert (done.status_code, done.headers["location"]) == (303, "/motet/jobs?page=1")


@pytest.mark.soak
def test_forms_and_arrays_lead_to_pages_below_the_root_path(proxied: LiveServer) -> None:
    address = ServerAddress.find(folder=proxied.folder)
    host = {"Host": "head.example", "Origin": "https://head.example"}
    with httpx.Client(
        headers=host, base_url=address.url.removesuffix("/motet"), timeout=60
    ) as browser:
        form = {"token": address.token, "next": "/jobs"}
        signed_in = browser.post("/motet/login", data=form).headers["set-cookie"]
        browser.headers["Cookie"] = signed_in.partition(";")[0]
        with LiveClient(address) as client:
            array = client.submit({**JOB, "run": "true", "array": "0-1"})["id"]
        led_to = [
            browser.get(f"/motet/jobs/{array}"),
            browser.post("/motet/whatif", data={"policy": "fifo", "period": "all jobs"}),
            browser.post("/motet/whatif/1/stop"),
            browser.post("/motet/whatif/1/delete"),
        ]
        page = browser.get("/motet/decisions").text
        decision = re.findall(r'href="(/motet/decisions/[0-9]+)"', page)[0]
        led_to.append(browser.post(f"{decision}/replay"))
    assert [answer.headers.get("location", answer.text) for answer in led_to] == [
        f"/motet/jobs?array={array}",
        "/motet/whatif/1",
        "/motet/whatif/1",
        "/motet/whatif",
        decision,
    ]


def test_a_page_of_the_same_name_without_tls_signs_nobody_in(proxied: LiveServer) -> None:
    """Whoever can change unencrypted traffic of a network can serve such a page."""
    address = ServerAddress.find(folder=proxied.folder)
    headers = {"Host": "head.example", "Origin": "http://head.example"}
    form = {"token": address.token, "next": "/jobs"}
    assert httpx.post(f"{address.url}/login", data=form, headers=headers).status_code == 403


def test_browsers_sign_in_at_a_port_that_the_proxy_passes_on(proxied: LiveServer) -> None:
    address = ServerAddress.find(folder=proxied.folder)
    form = {"token": address.token, "next": "/jobs"}
    origin = {"Origin": "https://head.example:9443"}
    passed = {**origin, "Host": "head.example:9443"}
    assert httpx.post(f"{address.url}/login", data=form, headers=passed).status_code == 303
    lost = httpx.post(f"{address.url}/login", data=form, headers={**origin, "Host": "head.example"})
    assert lost.status_code == 403
    assert "pass the Host header on with its port" in lost.json()["detail"]


def test_the_audit_log_has_the_address_that_the_proxy_names(proxied: LiveServer) -> None:
    address = ServerAddress.find(folder=proxied.folder)
    headers = {"Authorization": f"Bearer {address.token}", "X-Forwarded-For": "192.0.2.9"}
    queue = {"name": "by-proxy"}
    assert httpx.post(f"{address.url}/api/v1/queues", json=queue, headers=headers).is_success
    assert source_of(address, "POST /api/v1/queues") == "192.0.2.9"


def test_without_a_proxy_nobody_names_another_source(server: LiveServer) -> None:
    address = ServerAddress.find(folder=server.folder)
    assert address.ca_file is not None
    headers = {"Authorization": f"Bearer {address.token}", "X-Forwarded-For": "192.0.2.9"}
    trust = ssl.create_default_context(cafile=str(address.ca_file))
    trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    answer = httpx.post(
        f"{address.url}/api/v1/queues", json={"name": "q"}, headers=headers, verify=trust
    )
    assert answer.is_success
    assert source_of(address, "POST /api/v1/queues") == "127.0.0.1"
