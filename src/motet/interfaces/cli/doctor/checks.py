"""The checks of `motet doctor`, each a finding with a remedy."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from motet import __version__
from motet.domain.errors import AuthenticationFailed, MotetError, NotFound
from motet.insight.policy_failure import policy_failure_words
from motet.interfaces.api_access.api_requests import CertificateRefused
from motet.interfaces.cli.doctor.finding import Finding
from motet.interfaces.cli.doctor.machine_checks import examined_findings, machine_findings
from motet.interfaces.cli.doctor.own_checks import installation, state_folder
from motet.interfaces.cli.doctor.port_checks import head_port, served_port, unreached_port
from motet.interfaces.client import LiveClient
from motet.interfaces.configuration.settings import SERVER, value_of
from motet.interfaces.ray_nodes.cluster_record import RayClusterRecord
from motet.interfaces.server_address import (
    TOKEN_VARIABLE,
    ListensElsewhere,
    ServerAddress,
    default_server_folder,
    known_server,
)

MOST_CLOCK_ERROR_S = 5.0
SLOW_ANSWER_S = 1.0
_LONGEST_ANSWER_S = 10.0
_EXPIRES_SOON = timedelta(days=7)
_NEW_TOKEN = f"an admin makes another by 'motet token create NAME'; set it as {TOKEN_VARIABLE}"


def all_checks(server: str | None, folder: Path | None) -> list[Finding]:
    """Check this installation, the state folder, ports, and the server if it can be found."""
    home = folder or default_server_folder()
    found = [installation()]
    if home.exists() or not _is_client(server, folder):
        found += state_folder(home)
    head = _recorded_head(home)
    try:
        address = ServerAddress.find(server, folder)
    except MotetError as error:
        found += _without_server(server, folder, error)
        return [*found, *([] if head is None else [head_port(head)])]
    with LiveClient(address, _LONGEST_ANSWER_S) as client:
        return [*found, *server_checks(client, head)]


def _is_client(server: str | None, folder: Path | None) -> bool:
    """Whether an option, the environment or a configuration file names a server and no folder."""
    return bool(folder is None and (server or value_of(SERVER)))


def _recorded_head(home: Path) -> str | None:
    """Of the cluster that a server with this folder has started."""
    try:
        record = RayClusterRecord.read(home)
    except MotetError:
        return None
    return None if record is None else record.address


def _without_server(
    server: str | None, folder: Path | None, error: MotetError
) -> Iterator[Finding]:
    """A server that is not found, or whose token is not: where it should be is examined."""
    try:
        url = known_server(server, folder)
    except MotetError:
        url = None
    if url is None or isinstance(error, AuthenticationFailed):
        subject = "token" if isinstance(error, AuthenticationFailed) else "server"
        yield Finding(subject, "wrong", str(error))
    elif isinstance(error, ListensElsewhere):
        yield Finding("server port", "wrong", str(error))
    else:
        yield unreached_port(url, str(error))


def server_checks(client: LiveClient, head: str | None = None) -> Iterator[Finding]:
    """Whether the server answers, takes the token, has the same version and clock, and machines.

    `head`: address of the cluster's head as the state folder has it.
    """
    began_s = time.monotonic()
    try:
        health, server_date = client.health()
    except CertificateRefused as error:
        yield Finding("server", "wrong", str(error))
        return
    except MotetError as error:
        yield unreached_port(client.url, str(error))
        return
    took_s = time.monotonic() - began_s
    slow = took_s > SLOW_ANSWER_S
    message = f"answers in {1e3 * took_s:,.0f} ms"
    yield Finding("server", "warning" if slow else "ok", message)
    yield _version_finding(str(health.get("version", "")))
    if server_date is not None:
        yield clock_finding(server_date, time.time())
    try:
        machines = client.machines()
        yield token_finding(client.me(), client.tokens(), datetime.now(UTC))
    except AuthenticationFailed as error:
        yield Finding("token", "wrong", f"{error}; {_NEW_TOKEN}")
        return
    yield policy_finding(client.policy())
    yield from machine_findings(machines)
    yield from _checkup_findings(client, machines, head)


def _checkup_findings(
    client: LiveClient, machines: list[dict[str, Any]], head: str | None
) -> Iterator[Finding]:
    try:
        checkup = client.checkup()
    except NotFound:
        message = "the server is of an earlier version, which tells no versions and clocks; update"
        yield Finding("versions", "warning", message)
        return
    yield served_port(client.url, checkup["host"], is_encrypted=checkup["is_encrypted"])
    if address := checkup["head"] or head:
        yield head_port(address)
    yield from examined_findings(checkup, machines)


def _version_finding(theirs: str) -> Finding:
    if theirs == __version__:
        return Finding("version", "ok", f"the server has {theirs}, too")
    message = f"the server has {theirs or 'an unknown version'}, this is {__version__}; update one"
    return Finding("version", "warning", message)


def clock_finding(server_date: str, now_s: float) -> Finding:
    """`server_date`: the Date header of an answer, in whole seconds."""
    try:
        error_s = abs(parsedate_to_datetime(server_date).timestamp() - now_s)
    except ValueError:
        return Finding("clock", "warning", f"the server's date is unreadable: {server_date:.40}")
    if error_s > MOST_CLOCK_ERROR_S:
        message = f"differs from the server's by {error_s:,.0f} s; synchronise both (NTP)"
        return Finding("clock", "warning", message)
    return Finding("clock", "ok", "agrees with the server's")


def token_finding(me: dict[str, Any], tokens: list[dict[str, Any]], now: datetime) -> Finding:
    """Whose token it is, and how long it is valid. `tokens`: those that its user may see."""
    source = TOKEN_VARIABLE if os.environ.get(TOKEN_VARIABLE) else "the state folder"
    told = f"that of {source}: {me['user']}, {me['role']}"
    expiry = next((each["expires_at"] for each in tokens if each["id"] == me["token"]), None)
    if expiry is None:
        return Finding("token", "ok", f"{told}, does not expire")
    left = datetime.fromisoformat(expiry) - now
    if left < _EXPIRES_SOON:
        message = f"{told}, expires in {max(left.days, 0)} days ({expiry:.16} UTC); {_NEW_TOKEN}"
        return Finding("token", "warning", message)
    return Finding("token", "ok", f"{told}, expires in {left.days} days")


def policy_finding(found: dict[str, Any]) -> Finding:
    """Whether the policy in force decides."""
    if failure := found.get("failure"):  # An older server knows no failures.
        return Finding("policy", "wrong", policy_failure_words(failure))
    return Finding("policy", "ok", f"{found['policy']} decides")
