"""The figure of simulated lending shows every machine and every second."""

from __future__ import annotations

import numpy as np

from motet.report.remote_memory.balance_figure import BalanceColumns, MachineUse, balance_figure


def test_each_use_is_a_line_of_machines_and_one_of_seconds() -> None:
    uses = [
        MachineUse("without", np.linspace(0.1, 1, 7), np.full(30, 2.4)),
        MachineUse("with", np.linspace(0.5, 0.9, 7), np.full(30, 1.6)),
    ]
    figure = balance_figure(BalanceColumns("machines", uses))
    figure.draw_without_rendering()
    machines, seconds = figure.axes
    assert [line.get_label() for line in machines.get_lines()] == ["without", "with"]
    assert [len(np.asarray(line.get_ydata())) for line in machines.get_lines()] == [7, 7]
    assert [len(np.asarray(line.get_ydata())) for line in seconds.get_lines()] == [30, 30]
