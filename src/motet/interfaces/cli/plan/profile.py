"""`--profile`: the costs of a job's epoch, from a finished run or from a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Configuration, Fleet, Profile, even_shares, exchange_s
from motet.interfaces.cli.plan.fields import Fields, read_fields
from motet.report.training.folder import RECORD
from motet.runtime.core.schedule import DATA_BLOCKS, Schedule

MEGABIT = 125_000.0
"""Bytes."""
MODEL_BLOCKS = 1_024
FIELDS = (
    "instances",
    "batch_size",
    "worker_batch_size",
    "comp_s_per_instance",
    "exchange_bytes",
    "bandwidth_mbps",
    "data_blocks",
    "model_blocks",
)


@dataclass(frozen=True)
class MeasuredRun:
    """The configuration of a finished run. `epoch_s`: measured, the mean of its epochs."""

    machines: int
    workers: int
    servers: int
    epoch_s: float

    def configuration(self, profile: Profile) -> Configuration:
        """Its blocks: even shares, workers on the first machines, servers on the last."""
        idle_workers = (0,) * (self.machines - self.workers)
        idle_servers = (0,) * (self.machines - self.servers)
        return Configuration(
            even_shares(profile.data_blocks, self.workers) + idle_workers,
            idle_servers + even_shares(profile.model_blocks, self.servers),
        )


@dataclass(frozen=True)
class JobProfile:
    """A profile, and the speed of one machine of the run.

    `bandwidth_bytes_per_s`: None if unknown.
    """

    source: str
    profile: Profile
    comp_s_per_instance: float
    bandwidth_bytes_per_s: float | None
    run: MeasuredRun | None = None


def read_profile(path: Path) -> JobProfile:
    """A profile from the folder of a run, its `run.json`, or a YAML or JSON file.

    Raises NotFound, BadInput.
    """
    fields = read_fields(path / RECORD if path.is_dir() else path)
    return _of_run(fields) if "comp_s" in fields else _of_file(fields.only(*FIELDS))


def _of_file(fields: Fields) -> JobProfile:
    is_global = "worker_batch_size" not in fields
    if not is_global and "batch_size" in fields:
        raise BadInput(f"{fields.place}: give batch_size or worker_batch_size, not both")
    profile = Profile(
        instances=fields.whole("instances"),
        batch_size=fields.whole("batch_size" if is_global else "worker_batch_size"),
        exchange_bytes=fields.number("exchange_bytes"),
        data_blocks=fields.whole("data_blocks", DATA_BLOCKS),
        model_blocks=fields.whole("model_blocks", MODEL_BLOCKS),
        is_batch_global=is_global,
    )
    bandwidth = fields.number("bandwidth_mbps") if "bandwidth_mbps" in fields else None
    return JobProfile(
        fields.place,
        profile,
        fields.number("comp_s_per_instance"),
        None if bandwidth is None else bandwidth * MEGABIT,
    )


def _of_run(fields: Fields) -> JobProfile:
    """COMP and COMM are means over the workers, bytes are sums; both cover all epochs."""
    if fields.values.get("reconfigurations"):
        raise BadInput(
            f"{fields.place}: that run was reconfigured while it trained, so its times are of no "
            "single configuration; give a run without --auto and --reconfigure"
        )
    options = Fields.of(f"{fields.place}: options", fields.values.get("options"))
    workers, servers = options.whole("workers"), options.whole("servers")
    epochs, instances = fields.whole("epochs"), fields.whole("instances")
    steps = epochs * fields.whole("mini_batches")
    moved = fields.whole("bytes_pulled", least=0) + fields.whole("bytes_pushed", least=0)
    own_batch = options.whole("worker_batch_size", 0, least=0)
    batch_size = own_batch or -(-instances // fields.whole("mini_batches"))
    schedule = Schedule.of(instances, batch_size, DATA_BLOCKS, 0)
    profile = Profile(
        instances=instances,
        batch_size=batch_size,
        exchange_bytes=moved / (steps * workers),
        data_blocks=max(schedule.block_count, workers),
        # Records of earlier versions lack it.
        model_blocks=max(fields.whole("model_blocks", MODEL_BLOCKS), servers),
        is_batch_global=not own_batch,
    )
    times_s = fields.values.get("epoch_s")
    measured_s = float(np.mean(times_s)) if isinstance(times_s, list) and times_s else float("nan")
    run = MeasuredRun(options.whole("machines"), workers, servers, measured_s)
    comp_s = fields.number("comp_s") / (epochs * instances / workers)
    comm_s = float(fields.values.get("comm_s") or 0.0) / steps
    bandwidth = _effective_bandwidth(profile, run, comm_s)
    return JobProfile(fields.place, profile, comp_s, bandwidth, run)


def _effective_bandwidth(profile: Profile, run: MeasuredRun, comm_s: float) -> float | None:
    """The bandwidth that explains the measured COMM; None if nothing crossed a link."""
    slow = replace(profile, data_blocks=max(profile.data_blocks, run.workers))
    fleet = Fleet.uniform(run.machines, 1.0, 1.0)
    configuration = run.configuration(slow)
    is_worker = np.array(configuration.data_blocks) > 0
    bytes_on_slowest_link = float(exchange_s(slow, fleet, configuration)[is_worker].mean())
    if comm_s <= 0 or bytes_on_slowest_link <= 0:
        return None
    return bytes_on_slowest_link / comm_s
