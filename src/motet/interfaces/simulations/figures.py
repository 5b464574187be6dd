"""The figures of one or several simulated runs, as methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from motet.report.cluster_run.record import ClusterRun
from motet.report.figures import simulations as figures
from motet.report.figures.completion_by_kind import jct_by_bin_figure
from motet.report.figures.fairness import fairness_figure
from motet.report.figures.quality import average_loss_figure, gpus_by_loss_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RunFigures(ABC):
    """Figures of runs: a line, bar or panel per policy."""

    @property
    @abstractmethod
    def _cluster_runs(self) -> Sequence[ClusterRun]:
        """The runs to draw."""

    def plot_jct_cdf(self) -> Figure:
        """Cumulative share of jobs by completion time (logarithmic)."""
        return figures.jct_cdf_figure(self._cluster_runs)

    def plot_utilisation(self) -> Figure:
        """GPUs in use over time."""
        return figures.utilisation_figure(self._cluster_runs)

    def plot_queue_length(self) -> Figure:
        """Number of waiting jobs over time."""
        return figures.queue_length_figure(self._cluster_runs)

    def plot_jct_by_bin(self) -> Figure:
        """Completion times of small and large, short and long jobs."""
        return jct_by_bin_figure(self._cluster_runs)

    def plot_queueing_delay(self) -> Figure:
        """Average time without GPUs, by cause."""
        return figures.queueing_delay_figure(self._cluster_runs)

    def plot_fairness(self) -> Figure:
        """Cumulative share of experiments by finish-time fairness rho."""
        return fairness_figure(self._cluster_runs)

    def plot_average_loss(self) -> Figure:
        """Average normalised loss of the active jobs over time."""
        return average_loss_figure(self._cluster_runs)

    def plot_gpus_by_loss(self) -> Figure:
        """Shares of GPUs of the jobs with the highest losses and of the others, over time."""
        return gpus_by_loss_figure(self._cluster_runs)
