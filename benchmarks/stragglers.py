"""What a host that becomes four times slower costs, on a testbed (Linux, root).

One of four hosts loses three quarters of its CPU quota while a job trains. Epochs then are compared
with the ideal one: the same work at the sum of all hosts' measured speeds. First nobody helps, then
idle workers do (`--stragglers help`), then its share of the data is reduced as well.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from support.figures import Figure, parser, report
from support.hosts import Hosts, Line, hosts_up, unwind_when_terminated
from support.straggling import ASK, SLOW_EXECUTOR, Phase, Straggling

HOSTS, QUOTA, SLOW_QUOTA = 4, "0.2", "0.06"
"""Of either quota an idle Ray node takes 0.013."""
HURRIED = "0.6"
TARGET = 1.25

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "lda": (
        "synthetic-corpus:documents=24000,words=1000,topics=50,length=400,seed=1",
        {"topics": 100, "alpha": 1.0, "beta": 0.5, "batch_size": 12000},
    ),
}


def phases(epochs: int, *, helped: bool) -> list[Phase]:
    """Healthy, slow, and where somebody helps: rebalanced, recovered."""
    first = [Phase("healthy", epochs, QUOTA), Phase("slow", epochs, SLOW_QUOTA)]
    if not helped:
        return first
    return [
        *first,
        Phase("rebalanced", 2 * epochs, SLOW_QUOTA, balances=True),
        Phase("recovered", 2 * epochs, QUOTA),
    ]


def train(hosts: Hosts, app: str, stragglers: str, epochs: int) -> dict[str, Any]:
    """One job; what `straggling.py` measured."""
    data, settings = CASES[app]
    listed = phases(epochs, helped=stragglers == "help")
    plan = Straggling(app, data, settings, HOSTS, QUOTA, stragglers, listed)

    def heard(line: Line) -> None:
        if line.text.startswith(ASK):
            wanted, done = json.loads(line.text.removeprefix(ASK))
            for quota, host in wanted:
                hosts.give_cpus({quota: [host]})
            Path(done).touch()

    hosts.give_cpus({HURRIED: ["all"]})
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "support.straggling", json.dumps(asdict(plan)), folder]
        found: dict[str, Any] = json.loads(hosts.run(command, timeout_s=900, heard=heard))
    return found


def figures(app: str, alone: dict[str, Any], helped: dict[str, Any]) -> list[Figure]:
    """Every state's epoch against the ideal one of its own run."""
    found = []
    for name, run, phase, target in (
        ("nobody helps", alone, "slow", None),
        ("idle workers help", helped, "slow", TARGET),
        ("helped and rebalanced", helped, "rebalanced", TARGET),
        ("recovered", helped, "recovered", None),
    ):
        now, healthy = _phase(run, phase), _phase(run, "healthy")
        ideal_s = _settled_s(healthy) * _speed(healthy) / _speed(now)
        slowdown = _slowness(now) / _slowness(healthy)
        reached_s = _settled_s(now)
        found.append(
            Figure(
                f"{app}, {name} ({slowdown:.1f}x, {now['blocks'][-1]} blocks)",
                f"{reached_s:.2f} s",
                f"{ideal_s:.2f} s ideal",
                reached_s / ideal_s,
                target,
                at_least=False,
            )
        )
    return found


def _phase(run: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(phase for phase in run["phases"] if phase["name"] == name)
    return found


def _settled_s(phase: dict[str, Any]) -> float:
    """The median of its second half: the first epochs show how a change is noticed."""
    return float(median(phase["epoch_s"][len(phase["epoch_s"]) // 2 :]))


def _speed(phase: dict[str, Any]) -> float:
    """Instances a second of all workers together."""
    return sum(1 / each_s for each_s in phase["instance_s"].values())


def _slowness(phase: dict[str, Any]) -> float:
    return float(phase["instance_s"][str(SLOW_EXECUTOR)])


def main() -> None:
    """All cases on one testbed."""
    command = parser(__doc__ or "")
    command.add_argument("--name", default="stragglers", help="of the testbed")
    command.add_argument("--app", choices=sorted(CASES), action="append")
    command.add_argument("--raw", type=Path, help="where to write every epoch (JSON)")
    arguments = command.parse_args()
    epochs = 6 if arguments.quick else 12
    found: list[Figure] = []
    raw: dict[str, Any] = {}
    shape = ("--machines", str(HOSTS), "--cpus", HURRIED, "--bandwidth", "200mbit")
    unwind_when_terminated()
    with hosts_up(arguments.name, *shape) as hosts:
        for app in arguments.app or sorted(CASES):
            alone, helped = (train(hosts, app, how, epochs) for how in ("ignore", "help"))
            raw[app] = {"ignore": alone, "help": helped}
            found += figures(app, alone, helped)
    if arguments.raw is not None:
        arguments.raw.write_text(json.dumps(raw, indent=1))
    title = f"One of {HOSTS} hosts slowed by its quota: epochs against the ideal rebalanced one"
    report("stragglers", title, found)


if __name__ == "__main__":
    main()
