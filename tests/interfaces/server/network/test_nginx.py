"""The server behind a real nginx, configured as the documentation has it."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import motet
from certificates import Authority
from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = pytest.mark.cluster

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
PAGE = Path(__file__).parents[4] / "docs" / "operating.md"
OPTIONS = ("--behind-proxy", "localhost", "--root-path", "/motet", "--trusted-users")
CONFIGURATION = """
user root;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        {location}
    }}
}}
"""


@dataclass(frozen=True)
class Proxied:
    """`address`: of the server behind nginx, with nginx's certificate."""

    server: LiveServer
    address: ServerAddress


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def documented_location(port: str) -> str:
    """The block of the documentation, for a server at this port."""
    (block,) = re.findall(
        r"^```text\n(location .*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert "http://127.0.0.1:8000;" in block
    return block.replace("127.0.0.1:8000", f"127.0.0.1:{port}")


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    if NGINX is None:
        pytest.skip("needs nginx: tools/test_packages.sh installs it")
    folder = tmp_path_factory.mktemp("nginx")
    authority = Authority(folder)
    issued, port = authority.issue("localhost"), free_port()
    with running_server(folder / "state", "--cluster", "1x1", *OPTIONS) as server:
        own = ServerAddress.find(folder=server.folder)
        behind = re.sub(r".*:(\d+)/motet", r"\1", own.url)
        configuration = folder / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(
                folder=folder,
                port=port,
                certificate=issued.certificate,
                key=issued.key,
                location=documented_location(behind),
            )
        )
        with subprocess.Popen([NGINX, "-c", configuration, "-p", folder]) as nginx:
            url = f"https://localhost:{port}/motet"
            wait_until(lambda: nginx.poll() is not None or answers(port))
            yield Proxied(server, ServerAddress(url, own.token, authority.file))
            nginx.send_signal(signal.SIGTERM)


def answers(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def test_a_job_with_a_large_snapshot_is_sent_and_followed(proxied: Proxied, tmp_path: Path) -> None:
    """nginx alone takes bodies of 1 MB."""
    (tmp_path / "data").write_bytes(bytes(3 << 20))
    address = proxied.address
    with motet.Client(address.url, address.token, ca_file=address.ca_file) as client:
        run = "wc -c < data; sleep 1; echo end"
        job = client.submit(run=run, workdir=str(tmp_path), snapshot=True)
        assert "".join(client.follow(job)) == f"{3 << 20}\nend\n"
        assert client.wait(job, 60).has_succeeded


def test_changes_are_told_at_once(proxied: Proxied) -> None:
    """Buffered, they would come when some kilobytes are there."""
    with LiveClient(proxied.address) as client, client.another() as listening:
        changes = listening.changes()
        next(changes)
        job = client.submit({"name": "news", "run": "true", "workdir": "/"})["id"]
        next(changes)
        ended(client, job)
        changes.close()


def test_a_browser_signs_in_and_changes_something(proxied: Proxied) -> None:
    url, base = proxied.address.url, proxied.address.url.removesuffix("/motet")
    with httpx.Client(headers={"Origin": base}, verify=proxied.address.trusted()) as browser:
        form = {"token": proxied.address.token, "next": "/queues"}
        answer = browser.post(f"{url}/login", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, "/motet/queues")
        assert "secure" in answer.headers["set-cookie"].lower()
        page = browser.get(f"{base}{answer.headers['location']}")
        (action,) = re.findall(r'action="(/motet/queues/default/hold)"', page.text)
        assert browser.post(base + action).status_code == 303
        assert browser.post(base + action.replace("hold", "resume")).status_code == 303
        assert httpx.get(f"{url}/api/v1/jobs", verify=proxied.address.trusted()).status_code == 401


def test_the_audit_log_names_who_is_behind_the_proxy(proxied: Proxied) -> None:
    """An address that the client itself claims does not count."""
    address = proxied.address
    transport = httpx.HTTPTransport(local_address="127.0.0.2", verify=address.trusted())
    headers = {"Authorization": f"Bearer {address.token}", "X-Forwarded-For": "192.0.2.9"}
    with httpx.Client(transport=transport, headers=headers) as client:
        assert client.post(f"{address.url}/api/v1/queues", json={"name": "audited"}).is_success
    found = list[str]()

    def is_there() -> bool:
        entries = owner.audit("", 100)
        found[:] = [it["source"] for it in entries if it["action"] == "POST /api/v1/queues"]
        return bool(found)

    with LiveClient(ServerAddress.find(folder=proxied.server.folder)) as owner:
        wait_until(is_there)
    assert found == ["127.0.0.2"]
