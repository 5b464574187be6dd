"""The checks of `motet doctor`, each a finding with a remedy."""

from __future__ import annotations

import shutil
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from motet import __version__
from motet.domain.errors import MotetError
from motet.insight.policy_failure import policy_failure_words
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import TOKEN_FILE, ServerAddress, default_server_folder

CheckVerdict: TypeAlias = Literal["ok", "warning", "wrong"]

LEAST_FREE_BYTES = 1 << 30
MOST_CLOCK_ERROR_S = 5.0
SLOW_ANSWER_S = 1.0
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found; `message` says what to do unless the verdict is "ok"."""

    subject: str
    verdict: CheckVerdict
    message: str


def all_checks(server: str | None, folder: Path | None) -> list[Finding]:
    """Check this installation, the state folder, and the server if it can be found."""
    home = folder or default_server_folder()
    found = [installation(), *state_folder(home)]
    try:
        address = ServerAddress.find(server, folder)
    except MotetError as error:
        return [*found, Finding("server", "wrong", str(error))]
    with LiveClient(address) as client:
        return [*found, *server_checks(client)]


def installation() -> Finding:
    """Versions of Motet, Python and Ray."""
    ray = "not installed"
    if find_spec("ray") is not None:
        try:
            ray = version("ray")
        except PackageNotFoundError:
            ray = "of unknown version"
    python = ".".join(map(str, sys.version_info[:3]))
    return Finding("installation", "ok", f"Motet {__version__}, Python {python}, Ray {ray}")


def state_folder(home: Path) -> Iterator[Finding]:
    """Who can read the folder and the token, and how much room is left."""
    if not home.exists():
        message = f"{home} does not exist: no server has run here, or --state-dir is another one"
        yield Finding("state folder", "warning", message)
        return
    for path in (home, home / TOKEN_FILE):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            mode = "700" if path.is_dir() else "600"
            message = f"{path}: other users can read it; chmod {mode} {path}"
            yield Finding("state folder", "wrong", message)
    free = shutil.disk_usage(home).free
    if free < LEAST_FREE_BYTES:
        message = f"{home}: {free / 1e6:,.0f} MB are free; the journal needs room, free some space"
        yield Finding("disk", "wrong" if free < LEAST_FREE_BYTES / 10 else "warning", message)
    else:
        yield Finding("disk", "ok", f"{home}: {free / 1e9:,.1f} GB are free")


def server_checks(client: LiveClient) -> Iterator[Finding]:
    """Whether the server answers, takes the token, has the same version and clock, and machines."""
    began_s = time.monotonic()
    try:
        health, server_date = client.health()
    except MotetError as error:
        yield Finding("server", "wrong", str(error))
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
    except MotetError as error:
        yield Finding("token", "wrong", str(error))
        return
    yield Finding("token", "ok", "accepted")
    yield policy_finding(client.policy())
    yield from machine_findings(machines)


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


def policy_finding(found: dict[str, Any]) -> Finding:
    """Whether the policy in force decides."""
    if failure := found.get("failure"):  # An older server knows no failures.
        return Finding("policy", "wrong", policy_failure_words(failure))
    return Finding("policy", "ok", f"{found['policy']} decides")


def machine_findings(machines: list[dict[str, Any]]) -> Iterator[Finding]:
    """Machines that take no jobs, one finding each; else their number."""
    if not machines:
        yield Finding("machines", "warning", "the cluster has no machine; jobs wait for the first")
    troubled = [each for each in machines if each["state"] != "UP"]
    for each in troubled:
        drain = each.get("drain") or {}
        reason = f": {drain['reason']}" if drain.get("reason") else ""
        yield Finding("machines", "warning", f"{each['name']} is {each['state']}{reason}")
    if machines and not troubled:
        slots = sum(int(each["slots"]) for each in machines)
        yield Finding("machines", "ok", f"{len(machines)} with {slots} slots take jobs")
