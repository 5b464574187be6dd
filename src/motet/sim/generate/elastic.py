"""Elastic workloads: jobs with measured loss curves that run on variable numbers of workers.

`slaq-160`: after SLAQ (Zhang et al., SoCC 2017, section 4): 160 jobs of classic algorithms, one
every 15 s on average, on cores (a "GPU" is a core; the paper has 20 machines of 32). `optimus-50`:
after Optimus (Peng et al., EuroSys 2018, table 1 and section 6.1): nine deep-learning models on
parameter servers, half of them synchronous, arriving over 12,000 s, ending when the loss has nearly
converged; every worker and every server takes one slot.

The papers do not publish their jobs. Sizes, speeds and curves here are assumptions: a job's steps
and loss come from measured curves, its work from a log-normal distribution. Model sizes are
Optimus', transferred at the 1 Gbit/s of its testbed. Workers have five cores as there; their
computing time follows from the operations of a mini-batch, with the batch sizes of MXNet's
examples, and an assumed speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.speed_function import SpeedMode
from motet.sim.curves import LossCurve, bundled_curve
from motet.sim.generate.arrivals import Arrivals, Poisson
from motet.sim.generate.mix import whole_shares
from motet.sim.generate.workload import MOST_JOBS, whole_milliseconds
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.workload import Workload

SLAQ_CURVES = (
    "gbt-cls-a9a8k",
    "kmeans-mnist10k",
    "lasso-ista-communities",
    "lda-kos-k50",
    "lda-reuters-k20",
    "linreg-gd-communities",
    "logreg-gd-a9a",
    "logreg-lbfgs-a9a",
    "mlp-mnist10k",
    "svm-sgd-a9a",
)
_CORES, _MOST_CORES = 16, 64
_PER_CORE = 2e-5
"""Fraction of a step on one core that each core adds."""


class _Model(NamedTuple):
    """`million_parameters`: as in Optimus' table 1. `batch_gflop`: forward and backward pass over a
    worker's mini-batch, six operations per weight and use. `curve`: the loss curve used for it.
    """

    name: str
    million_parameters: float
    batch_gflop: float
    curve: str


OPTIMUS_MODELS = (
    _Model("ResNext-110", 1.7, 128 * 1.5, "mlp-mnist10k"),
    _Model("ResNet-50", 25.0, 32 * 25.0, "mlp-mnist10k"),
    _Model("Inception-BN", 11.3, 32 * 12.0, "svm-sgd-a9a"),
    _Model("KAGGLE", 1.4, 64 * 1.9, "svm-sgd-a9a"),
    _Model("CNN-rand", 6.0, 50 * 0.11, "logreg-gd-a9a"),
    _Model("DSSM", 1.5, 256 * 0.054, "mf-sgd-ml100k"),
    _Model("RNN-LSTM", 4.7, 32 * 0.55, "charlm-shakespeare-per10steps"),
    _Model("Seq2Seq", 9.1, 64 * 0.6, "charlm-shakespeare-per10steps"),
    _Model("DeepSpeech2", 38.0, 12 * 92.0, "gbt-cls-a9a8k"),
)
"""Operations per sample: of the layers of `motet.sim.speeds.model_tensors`. Sequences have 54
words (CNN-rand), 35 (RNN-LSTM), 25 (Seq2Seq), 400 frames (DeepSpeech2); DSSM compares six texts.
"""
_LINK_BYTES_PER_S = 125e6
_BYTES = 4
_ASKED, _MOST = 4, 16
_SIGMA_JOB_S = 0.8
_FLATTEST, _STEEPEST = 0.01, 0.06
"""Remaining fraction of the loss reduction at a job's end: Optimus draws thresholds of 1 to 6 %."""


@dataclass(frozen=True)
class ElasticRecipe:
    """`draw(jobs, rng)`: names of the jobs' models, and their work models."""

    jobs: int
    arrivals: Arrivals
    draw: Callable[[int, np.random.Generator], tuple[list[str], WorkModels]] = field(repr=False)


def generate_elastic(recipe: ElasticRecipe, rng: np.random.Generator) -> Workload:
    """Draw a workload; the first job arrives at 0, ids count from 0. Raises BadInput."""
    if not 1 <= recipe.jobs <= MOST_JOBS:
        raise BadInput(f"--jobs {recipe.jobs}: must be within 1 to {MOST_JOBS:,}")
    for_jobs, for_gaps = rng.spawn(2)
    models, work = recipe.draw(recipe.jobs, for_jobs)
    gaps_s = recipe.arrivals.gaps_s(recipe.jobs - 1, for_gaps)
    submit_us = whole_milliseconds("--arrivals", np.concatenate([[0.0], np.cumsum(gaps_s)]))
    ids = [str(number) for number in range(recipe.jobs)]
    return Workload.of(ids, submit_us, work.duration_us(), work.gpus, models=models, work=work)


@dataclass(frozen=True)
class SlaqJobs:
    """Equally many jobs per algorithm; a step is an iteration of its curve.

    `median_core_s`, `sigma`: work of a job on one core, log-normal; `serial`: part of a step that
    further cores do not shorten. `curves`: a curve of each algorithm (empty: `SLAQ_CURVES`).
    """

    median_core_s: float = 6000.0
    sigma: float = 0.8
    serial: float = 2e-3
    curves: tuple[LossCurve, ...] = ()

    def __call__(self, count: int, rng: np.random.Generator) -> tuple[list[str], WorkModels]:
        """Names of the algorithms, and work models."""
        known = self.curves or tuple(bundled_curve(name) for name in SLAQ_CURVES)
        by_name = {curve.name: curve for curve in known}
        names = _shuffled(tuple(by_name), count, rng)
        curves = [by_name[name] for name in names]
        steps = np.array([len(curve.losses) - 1 for curve in curves])
        core_s = self.median_core_s * rng.lognormal(0.0, self.sigma, count) / steps
        zero, one = np.zeros(count), np.ones(count)
        parts = [core_s, self.serial * core_s, zero, _PER_CORE * core_s, zero, one]
        return names, WorkModels.of(
            steps,
            int(SpeedMode.SYNC),
            _rounded(np.column_stack(parts)),
            curves=curves,
            workers=_CORES,
            max_workers=_MOST_CORES,
        )


@dataclass(frozen=True)
class OptimusJobs:
    """Equally many jobs per model, every other job synchronous.

    `worker_gflop_per_s`: effective speed of the five cores of a worker; 60 of a peak of 160 at
    2 GHz. `median_job_s`: of the run times on the full request with a machine for each role.
    """

    worker_gflop_per_s: float = 60.0
    median_job_s: float = 1800.0

    def __call__(self, count: int, rng: np.random.Generator) -> tuple[list[str], WorkModels]:
        """Names of the models, and work models."""
        by_name = {model.name: model for model in OPTIMUS_MODELS}
        models = [by_name[name] for name in _shuffled(tuple(by_name), count, rng)]
        mode = rng.permutation(np.resize([int(SpeedMode.SYNC), int(SpeedMode.ASYNC)], count))
        steps_s = [model.batch_gflop / self.worker_gflop_per_s for model in models]
        parts = zip(models, mode, steps_s, strict=True)
        speed = _rounded(np.array([_ps_speed(*each) for each in parts]))
        curves = [bundled_curve(model.curve) for model in models]
        left = rng.uniform(_FLATTEST, _STEEPEST, count)
        target = _rounded(
            np.array(
                [
                    curve.lowest + part * (float(curve.losses[0]) - curve.lowest)
                    for curve, part in zip(curves, left, strict=True)
                ]
            )
        )
        until = [c.part_until(loss) for c, loss in zip(curves, target.tolist(), strict=True)]
        job_s = self.median_job_s * rng.lognormal(0.0, _SIGMA_JOB_S, count)
        roles: dict[str, Any] = {"workers": _ASKED, "servers": _ASKED, "max_workers": _MOST}
        roles |= {"min_servers": 1, "max_servers": _MOST, "server_gpus": 1}
        once = WorkModels.of(np.ones(count, dtype=np.int64), mode, speed, **roles)
        steps = np.rint(job_s * once.speeds.steps_per_s(_ASKED, _ASKED) / until)
        planned = np.maximum(steps, 1)
        work = WorkModels.of(planned, mode, speed, curves=curves, target_loss=target, **roles)
        return [model.name for model in models], work


def _ps_speed(model: _Model, mode: int, step_s: float) -> tuple[float, ...]:
    """Speed parameters of a model that computes a mini-batch in `step_s`.

    A synchronous job divides a batch of 4 workers among its workers; an asynchronous worker
    computes one worker's batch per step. Gradients and parameters cross the servers' links.
    """
    transfer_s = 2 * model.million_parameters * 1e6 * _BYTES / _LINK_BYTES_PER_S
    overhead_s = 0.01 * step_s
    if mode == SpeedMode.SYNC:
        return step_s, 0.05 * step_s, transfer_s, overhead_s, overhead_s, float(_ASKED)
    return step_s, transfer_s, overhead_s, overhead_s, 0.0, 1.0


def _shuffled(names: tuple[str, ...], count: int, rng: np.random.Generator) -> list[str]:
    numbers = np.repeat(np.arange(len(names)), whole_shares(count, [1] * len(names)))
    return [names[number] for number in rng.permutation(numbers).tolist()]


def _rounded(values: Floats) -> Floats:
    """Values rounded to six significant digits, the precision of trace files."""
    return np.array([float(f"{value:.6g}") for value in values.ravel()]).reshape(values.shape)


ELASTIC_RECIPES = {
    "slaq-160": ElasticRecipe(160, Poisson(15.0), SlaqJobs()),
    "optimus-50": ElasticRecipe(50, Poisson(240.0), OptimusJobs()),
}
