"""Cells that a spreadsheet would run are written as text and read back unchanged."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.cluster import ClusterSpec
from motet.interfaces.simulation_runs import Scenario, run_one, run_output
from motet.report.rendering.csv_cells import inert_cell, original_cell
from motet.report.simulation.folder import SimulationFolder
from motet.report.simulation.job_story import job_ids
from motet.report.simulation.stored_run import read_runs
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload

FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "'=x")


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_become_text(cell: str) -> None:
    assert inert_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-5", "+1e9", "-inf", "j0", "", "'", "'a", 7, -7, None])
def test_other_cells_stay(cell: object) -> None:
    assert inert_cell(cell) == cell


@given(st.text("'=+-@\t\ra1.", max_size=6))
def test_every_cell_reads_back(cell: str) -> None:
    assert original_cell(str(inert_cell(cell))) == cell


@pytest.mark.soak
def test_ids_of_a_run_that_begin_like_formulas_read_back(tmp_path: Path) -> None:
    count = len(FORMULAS)
    jobs = Workload.of(list(FORMULAS), [0] * count, [1_000_000] * count, [1] * count)
    scenario = Scenario(jobs, "0" * 64, ClusterSpec.uniform(1, 2))
    result = run_one(Experiment("fifo", {"placement": "count"}, 0), scenario)
    run = run_output("fifo", result, {"policy": "fifo", "settings": {}, "seed": 0})
    SimulationFolder(tmp_path, ["fifo"], overwrite=False).write([run], {"gpus": 2})

    with (tmp_path / "jobs.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if inert_cell(cell) != cell and cell[0] != "'"]
    (stored,) = read_runs(tmp_path)
    assert sorted(stored.cluster_run.ids) == sorted(FORMULAS)
    assert sorted(job_ids(tmp_path)) == sorted(FORMULAS)
