"""`motet memory simulate`: draws the containers, replays them, shows and writes the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput
from motet.interfaces.cli.memory.simulation_screen import SimulatedLending, lending_page
from motet.interfaces.cli.shell.row_formats import csv_lines
from motet.interfaces.cli.shell.streams.busy_line import busy_line
from motet.interfaces.cli.shell.streams.results import print_json, print_result
from motet.report.remote_memory.balance_figure import (
    BalanceColumns,
    MachineUse,
    save_balance_figure,
)
from motet.report.rendering.folder import Folder
from motet.sim.remote_memory.containers import LoadAssumptions, drawn_load
from motet.sim.remote_memory.replay import LendingRules, replayed_lending
from motet.sim.remote_memory.strategies import STRATEGIES
from motet.sim.remote_memory.summary import (
    PAPER_WITH,
    PAPER_WITHOUT,
    Balance,
    balance,
    settled,
    summarise_lending,
)

SUMMARY, MACHINES, PICTURE = "summary.json", "machines.csv", "balance.png"


@dataclass(frozen=True)
class MemoryFlags:
    """The flags of `motet memory simulate`, as click read them."""

    machines: int
    memory_bytes: int
    slab_bytes: int
    head_room_bytes: int | None
    containers_per_machine: float
    working_set_bytes: int
    lasts_s: float
    grows_s: float
    kept: float
    base_bytes: int
    time_s: float
    seed: int
    out: Path | None
    as_json: bool

    @property
    def assumed(self) -> LoadAssumptions:
        """The containers. Raises BadInput."""
        if self.time_s < 2:
            raise BadInput(f"--time {self.time_s:g} s: give 2 s or more")
        return LoadAssumptions(
            self.machines,
            round(self.time_s),
            self.memory_bytes,
            self.base_bytes,
            self.containers_per_machine,
            self.working_set_bytes,
            round(self.grows_s),
            max(round(self.lasts_s), 1),
            self.kept,
        )

    @property
    def rules(self) -> LendingRules:
        """Of all lenders. Raises BadInput."""
        rules = LendingRules(self.slab_bytes, self.head_room_bytes)
        limits = rules.limits(self.memory_bytes)
        left = self.memory_bytes - limits.head_room_bytes - self.base_bytes
        if left < self.slab_bytes:
            raise BadInput(
                "no machine can lend a slab: --memory without --head-room and --base has "
                f"{max(left, 0)} bytes, --slab {self.slab_bytes}; make --slab smaller"
            )
        return rules


def show_lending(flags: MemoryFlags) -> None:
    """Simulate and print the result. Raises MotetError."""
    folder = None if flags.out is None else Folder(flags.out)
    rules = flags.rules
    with busy_line(f"simulating {flags.machines:,} machines"):
        shown = simulated(flags.assumed, rules, flags.seed)
    if folder is not None:
        folder.write_json(SUMMARY, _document(flags, shown))
        folder.write_text(MACHINES, csv_lines(_machine_rows(shown)))
        columns = balance_columns(shown)
        folder.write(PICTURE, lambda path: save_balance_figure(columns, path))
    if flags.as_json:
        print_json(_document(flags, shown))
    else:
        print_result(lending_page(shown, flags.out))


def simulated(assumed: LoadAssumptions, rules: LendingRules, seed: int) -> SimulatedLending:
    """All strategies over the same containers."""
    load = drawn_load(assumed, seed)
    histories = [replayed_lending(load, rules, strategy, seed) for strategy in STRATEGIES]
    without = balance(load.own_bytes[settled(load.steps)], load.memory_bytes)
    return SimulatedLending(assumed, without, histories, [*map(summarise_lending, histories)])


def balance_columns(shown: SimulatedLending) -> BalanceColumns:
    """The input of the figure."""
    load = shown.histories[0].load
    uses = [MachineUse("no remote memory", *_shares(load.own_bytes, load.memory_bytes))]
    for history in (shown.histories[0], shown.histories[-1]):
        shares = _shares(history.used_bytes, load.memory_bytes)
        uses.append(MachineUse(history.strategy.name, *shares))
    return BalanceColumns(shown.heading, uses)


def _shares(used_bytes: Ints, memory_bytes: int) -> tuple[Any, Any]:
    """Use of the machines at the end, in order; maximum to median over time."""
    ordered = np.sort(used_bytes[-1]) / memory_bytes
    return ordered, used_bytes.max(axis=1) / np.median(used_bytes, axis=1)


def _machine_rows(shown: SimulatedLending) -> Iterator[list[object]]:
    """Of the last second."""
    own = shown.histories[0].load.own_bytes[-1]
    columns = [history.lent_slabs[-1].tolist() for history in shown.histories]
    names = [f"lent_slabs: {history.strategy.name}" for history in shown.histories]
    yield ["machine", "own_bytes", *names]
    for machine, (of_own, *lent) in enumerate(zip(own.tolist(), *columns, strict=True)):
        yield [machine, of_own, *lent]


def _document(flags: MemoryFlags, shown: SimulatedLending) -> dict[str, Any]:
    setup = {name: value for name, value in asdict(flags).items() if name not in ("out", "as_json")}
    return {
        "setup": setup,
        "without": asdict(shown.without),
        "runs": [summary.document() for summary in shown.summaries],
        "paper": {"machines": 32, "without": _known(PAPER_WITHOUT), "with": _known(PAPER_WITH)},
    }


def _known(figures: Balance) -> dict[str, float]:
    """The figures that the chapter states."""
    return {name: value for name, value in asdict(figures).items() if value == value}
