"""Checks of the machines: whether they take jobs, their versions and clocks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from motet.insight.wording import counted
from motet.interfaces.cli.doctor.finding import Finding

MOST_MACHINE_CLOCK_ERROR_S = 1.0
"""Times of starts and ends of processes are those of their machines."""
_UNEXAMINED = (
    "has told no versions and no time: it has just joined, or runs an earlier Motet; ask again in "
    "a minute, or end and repeat 'motet machine join' there"
)


def machine_findings(machines: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
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
        take = "takes" if len(machines) == 1 else "take"
        told = f"{len(machines)} with {counted(slots, 'slot')} {take} jobs"
        yield Finding("machines", "ok", told)


def examined_findings(
    checkup: Mapping[str, Any], machines: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """Connections, versions and clocks of the machines of a Ray cluster; nothing where all jobs run
    beside the server. `checkup`: what the server tells of them."""
    if checkup["head"] is None:
        return
    if checkup["refusal"]:
        message = f"the server does not reach the cluster: {checkup['refusal']}"
        yield Finding("head", "wrong", message)
    examined = {each["name"]: each for each in checkup["machines"]}
    present = [each["name"] for each in machines if each["state"] != "GONE"]
    reached = [examined[name] for name in present if name in examined]
    for name in (name for name in present if name not in examined):
        yield Finding("machine", "warning", f"{name} {_UNEXAMINED}")
    for each in (each for each in reached if each["refusal"]):
        message = f"{each['name']} is not reached: {each['refusal']}"
        yield Finding("machine", "wrong", message)
    told = [each for each in reached if not each["refusal"]]
    yield from _versions(checkup["versions"], told)
    yield from _clocks(told)


def _versions(
    server: Mapping[str, str], machines: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    others = 0
    for each in machines:
        differences = [*_differences(server, each)]
        if not differences:
            continue
        others += 1
        # Ray refuses other versions of itself and of Python; Motet goes on with one beside it.
        is_minor = all(word.startswith("Motet") for word in differences)
        message = (
            f"{each['name']} has {', '.join(differences)}; install what the server has, and join "
            "the machine again"
        )
        yield Finding("versions", "warning" if is_minor else "wrong", message)
    if machines and not others:
        words = f"Motet {server['motet']}, Python {server['python']}, Ray {server['ray']}"
        yield Finding("versions", "ok", f"{_counted(machines)} as the server: {words}")


def _differences(server: Mapping[str, str], machine: Mapping[str, Any]) -> Iterator[str]:
    pairs = (
        ("Motet", server["motet"], machine["version"]),
        ("Python", _minor(server["python"]), _minor(machine["python"])),
        ("Ray", server["ray"], machine["ray"]),
    )
    for name, expected, found in pairs:
        if found != expected:
            yield f"{name} {found or 'unknown'} (the server {expected or 'none'})"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _clocks(machines: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    known = [each for each in machines if each["clock_offset_s"] is not None]
    wrong = [each for each in known if _least_error_s(each) > MOST_MACHINE_CLOCK_ERROR_S]
    for each in wrong:
        direction = "ahead of" if each["clock_offset_s"] > 0 else "behind"
        message = (
            f"{each['name']} is {abs(each['clock_offset_s']):,.1f} s {direction} the server; "
            "synchronise both (NTP): times of its jobs and logs are wrong by as much"
        )
        yield Finding("clocks", "wrong", message)
    if known and not wrong:
        most_s = max(abs(each["clock_offset_s"]) + each["clock_error_s"] for each in known)
        words = f"{_counted(known)} within {_rounded(most_s)} of the server's clock"
        yield Finding("clocks", "ok", words)


def _least_error_s(machine: Mapping[str, Any]) -> float:
    """What remains when the measurement is as wrong as it may be."""
    return float(abs(machine["clock_offset_s"]) - machine["clock_error_s"])


def _rounded(time_s: float) -> str:
    return f"{1e3 * time_s:,.0f} ms" if time_s < 1.0 else f"{time_s:,.1f} s"


def _counted(machines: Sequence[object]) -> str:
    return "1 machine" if len(machines) == 1 else f"{len(machines)} machines"
