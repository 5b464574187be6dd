"""`motet user`, `motet token` and `motet audit` against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from live_server import LiveServer, running_server
from motet.domain.errors import AuthenticationFailed, BadInput, NotFound
from motet.interfaces.cli.commands import motet
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        yield found


def run(server: LiveServer, command: str, *words: str, token: str | None = None) -> str:
    arguments = [*command.split(), "--state-dir", str(server.folder), *words]
    result = CliRunner(env={"MOTET_TOKEN": token, "COLUMNS": "200"}).invoke(
        motet, arguments, catch_exceptions=False, standalone_mode=False
    )
    return result.stdout


def listed(server: LiveServer, command: str, key: str, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(server, command, "--json", *words))[key]
    return found


def test_a_user_from_creation_to_revocation(server: LiveServer) -> None:
    assert run(server, "user create", "bob") == "bob  user\n"
    text = run(server, "token create", "bob", "--label", "laptop").strip()
    assert text.startswith("motet_")
    run(server, "submit", "--", "true", token=text)
    (job,) = listed(server, "list", "jobs")
    assert job["user"] == "bob"
    (token,) = listed(server, "token list", "tokens")
    assert (token["user"], token["label"]) == ("bob", "laptop")
    for table in ("user list", "token list"):
        assert "bob" in run(server, table)
        assert text not in run(server, table)
    assert run(server, "user revoke", "bob") == "bob  revoked\n"
    with pytest.raises(AuthenticationFailed, match="wrong, expired or revoked"):
        run(server, "list", token=text)


@pytest.mark.parametrize(("words", "days"), [([], 365), (["--days", "7"], 7), (["--days", "0"], 0)])
def test_a_token_expires_unless_it_must_not(
    server: LiveServer, words: list[str], days: int
) -> None:
    name = f"of-{days}-days"
    run(server, "user create", name)
    run(server, "token create", name, *words)
    (token,) = [it for it in listed(server, "token list", "tokens") if it["user"] == name]
    created, expires = token["created_at"], token["expires_at"]
    assert (expires is None) == (days == 0)
    if expires is not None:
        life = datetime.fromisoformat(expires) - datetime.fromisoformat(created)
        assert life == timedelta(days=days)


def test_a_token_can_be_written_to_a_file_of_its_own(server: LiveServer, tmp_path: Path) -> None:
    run(server, "user create", "prometheus", "--role", "viewer")
    path = tmp_path / "token"
    told = run(server, "token create", "prometheus", "--to", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text().strip()
    assert text not in told
    assert run(server, "machine list", token=text)
    before = len(listed(server, "token list", "tokens"))
    with pytest.raises(BadInput, match="File exists; name a new file"):
        run(server, "token create", "prometheus", "--to", str(path))
    with pytest.raises(NotFound, match="there is no user nobody"):
        run(server, "token create", "nobody", "--to", str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()
    assert len(listed(server, "token list", "tokens")) == before
    (number,) = [each["id"] for each in listed(server, "token list", "tokens", *())][-1:]
    assert run(server, "token revoke", number) == f"{number}  prometheus  revoked\n"


def test_a_dash_prints_a_token(
    server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(server, "user create", "reader", "--role", "viewer")
    text = run(server, "token create", "reader", "--to", "-").strip()
    assert run(server, "machine list", token=text)
    assert list(tmp_path.iterdir()) == []


def test_the_audit_log_is_printed_with_the_latest_request_last(server: LiveServer) -> None:
    for name in ("one", "two"):
        run(server, "user create", name)
    wait_until(lambda: "user two (user)" in run(server, "audit"))
    lines = run(server, "audit", "--limit", "2").splitlines()
    assert lines[0].split() == ["TIME", "USER", "FROM", "STATUS", "REQUEST"]
    assert [line.split()[-2] for line in lines[1:]] == ["one", "two"]
    assert all("127.0.0.1" in line and " 201 " in line for line in lines[1:])
    assert listed(server, "audit", "entries", "--user", "nobody") == []
