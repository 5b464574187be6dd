"""A simulation result with figures, as `motet.simulate` returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.report.cluster_run.run_label import run_label
from motet.report.figures import simulations as figures
from motet.report.figures.completion_by_kind import jct_by_bin_figure
from motet.report.figures.fairness import fairness_figure
from motet.report.figures.gantt import gantt_figure
from motet.report.figures.quality import average_loss_figure, gpus_by_loss_figure
from motet.sim.metrics.results import SimulationResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PlottableResult(SimulationResult):
    """The result of a simulation. `jobs`: a table; `summary`: a dictionary; `plot_...()`: figures.

    `outcome`: all times in integer microseconds. `wall_s`: duration of the simulation itself.
    `sweep`: the swept parameter and its value in this run; None outside of sweeps.
    """

    def plot_jct_cdf(self) -> Figure:
        """Cumulative share of jobs by completion time (logarithmic)."""
        return figures.jct_cdf_figure([self.cluster_run])

    def plot_utilisation(self) -> Figure:
        """GPUs in use over time."""
        return figures.utilisation_figure([self.cluster_run])

    def plot_queue_length(self) -> Figure:
        """Number of waiting jobs over time."""
        return figures.queue_length_figure([self.cluster_run])

    def plot_jct_by_bin(self) -> Figure:
        """Completion times of small and large, short and long jobs."""
        return jct_by_bin_figure([self.cluster_run])

    def plot_queueing_delay(self) -> Figure:
        """Average time without GPUs, by cause."""
        return figures.queueing_delay_figure([self.cluster_run])

    def plot_fairness(self) -> Figure:
        """Cumulative share of experiments by finish-time fairness rho."""
        return fairness_figure([self.cluster_run])

    def plot_average_loss(self) -> Figure:
        """Average normalised loss of the active jobs over time."""
        return average_loss_figure([self.cluster_run])

    def plot_gpus_by_loss(self) -> Figure:
        """Shares of GPUs of the jobs with the highest losses and of the others, over time."""
        return gpus_by_loss_figure([self.cluster_run])

    def plot_gantt(self) -> Figure:
        """Jobs on the GPUs of every machine over time."""
        return gantt_figure(run_label(self.summary), self.placements)
