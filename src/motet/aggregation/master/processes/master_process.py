"""The process of pMaster: `python -m motet.aggregation.master.processes.master_process FOLDER`.

It ends with its standard input, which its starter holds.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.remote_launcher import RemoteLauncher
from motet.aggregation.master.service.pool_master import PoolMaster
from motet.aggregation.master.service.requests import PoolRequests
from motet.aggregation.master.service.state_file import StateFile
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.job_credentials import JobCredential, job_of_client
from motet.aggregation.wire.pool_address import PoolAddress
from motet.runtime.executor.process_control import set_process_name
from motet.transport import Endpoint, Server, read_secret


def _serve(folder: PoolFolder, settings: MasterSettings, host: str) -> None:
    """Serve until standard input ends."""
    secret, pool_secret = read_secret(folder.program_secret), read_secret(folder.pool_secret)
    launcher = RemoteLauncher(
        Endpoint.decode(folder.launcher.read_text(encoding="utf-8")), pool_secret
    )

    def connect(endpoint: str) -> RemoteAggregator:
        return RemoteAggregator(Endpoint.decode(endpoint), pool_secret)

    def secret_of(client_id: str) -> bytes:
        job = job_of_client(client_id)
        return secret if job is None else JobCredential.derived(pool_secret, job).secret

    with (
        folder.lock_master(),
        PoolMaster(settings, launcher, connect, StateFile(folder.state)) as master,
    ):
        server = Server(PoolRequests(master).handle, secret_of, host=host)
        PoolAddress(server.endpoint, secret).write_endpoint(folder.address)
        print(server.endpoint.encode(), flush=True)  # noqa: T201 - for the starter
        sys.stdin.buffer.read()
        server.close()


def run_master_process() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--most-aggregators", type=int, required=True)
    parser.add_argument("--loss-limit", type=float, required=True)
    parser.add_argument("--period-s", type=float, required=True)
    parser.add_argument("--on-demand", type=int, required=True)
    parser.add_argument("--link-bps", type=int)
    given = parser.parse_args()
    set_process_name("motet-pmaster")
    logging.basicConfig(level=logging.WARNING, format="pMaster: %(message)s")
    rules = ScalingRules(
        given.most_aggregators, on_demand=given.on_demand, loss_limit=given.loss_limit
    )
    settings = MasterSettings(rules, period_s=given.period_s, link_bps=given.link_bps)
    _serve(PoolFolder(given.folder), settings, given.host)


if __name__ == "__main__":
    run_master_process()
