"""`--machines`: a number of machines like the profile's, or a file of types of machines.

    types:
      - {name: fast, count: 4, speed: 2, bandwidth_mbps: 800}
      - {name: slow, count: 28}
    bandwidths:
      - {worker: fast, server: slow, bandwidth_mbps: 300}

`speed`: times as fast at COMP as the machines of the profile (or give `comp_s_per_instance`). The
bandwidth of a pair is the lower of its two types' unless it is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.estimate.epoch_cost import Fleet, MachineType
from motet.interfaces.cli.plan.fields import Fields, read_fields
from motet.interfaces.cli.plan.profile import MEGABIT, JobProfile

MOST_MACHINES = 10_000
MOST_TYPES = 8


def read_fleet(text: str | None, job: JobProfile, bandwidth_mbps: float | None) -> Fleet:
    """The machines to plan for; by default those of the run. Raises BadInput, NotFound."""
    known = job.bandwidth_bytes_per_s
    bandwidth = known if bandwidth_mbps is None else bandwidth_mbps * MEGABIT
    if text is None:
        if job.run is None:
            raise BadInput("--machines is missing: give their number, or a file of their types")
        text = str(job.run.machines)
    if not text.strip().lstrip("+-").isdigit():
        if not Path(text).exists():
            raise NotFound(f"--machines {text}: neither a number nor an existing file")
        return _of_file(read_fields(Path(text)).only("types", "bandwidths"), job, bandwidth)
    machines = int(text)
    if not 1 <= machines <= MOST_MACHINES:
        raise BadInput(f"--machines {text}: give 1 to {MOST_MACHINES:,} machines")
    return Fleet.uniform(machines, job.comp_s_per_instance, _known(bandwidth, job.source))


def _of_file(fields: Fields, job: JobProfile, bandwidth: float | None) -> Fleet:
    entries = [
        entry.only("name", "count", "speed", "comp_s_per_instance", "bandwidth_mbps")
        for entry in fields.entries("types")
    ]
    if not 1 <= len(entries) <= MOST_TYPES:
        raise BadInput(f"{fields.place}: {len(entries)} types; give 1 to {MOST_TYPES}")
    kinds = tuple(_kind(entry, job) for entry in entries)
    names = [kind.name for kind in kinds]
    if len(set(names)) < len(names):
        raise BadInput(f"{fields.place}: two types have the same name; names are unique")
    if not 1 <= sum(kind.count for kind in kinds) <= MOST_MACHINES:
        raise BadInput(f"{fields.place}: give 1 to {MOST_MACHINES:,} machines in all")
    links = [
        entry.number("bandwidth_mbps") * MEGABIT
        if "bandwidth_mbps" in entry
        else _known(bandwidth, entry.place)
        for entry in entries
    ]
    pairs = [[min(worker, server) for server in links] for worker in links]
    for entry in fields.entries("bandwidths"):
        entry.only("worker", "server", "bandwidth_mbps")
        worker, server = _place(entry, "worker", names), _place(entry, "server", names)
        pairs[worker][server] = entry.number("bandwidth_mbps") * MEGABIT
    return Fleet(kinds, tuple(map(tuple, pairs)))


def _kind(entry: Fields, job: JobProfile) -> MachineType:
    if "speed" in entry and "comp_s_per_instance" in entry:
        raise BadInput(f"{entry.place}: give speed or comp_s_per_instance, not both")
    comp_s = job.comp_s_per_instance / entry.number("speed", 1.0)
    return MachineType(
        entry.text("name"),
        entry.whole("count", 1, least=0),
        entry.number("comp_s_per_instance", comp_s),
    )


def _place(entry: Fields, role: str, names: Sequence[str]) -> int:
    name = entry.text(role)
    if name not in names:
        raise BadInput(f"{entry.place}: {UnknownName('type', name, names)}")
    return names.index(name)


def _known(bandwidth: float | None, place: str) -> float:
    if bandwidth is None:
        raise BadInput(f"{place}: no bandwidth is known; give --bandwidth MBPS or bandwidth_mbps")
    return bandwidth
