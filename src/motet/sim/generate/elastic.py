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
from motet.sim.curves import bundled_curve
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
_MEDIAN_CORE_S, _SIGMA_CORE_S = 6000.0, 0.8
_SERIAL, _PER_CORE = 2e-3, 2e-5
"""Fractions of a step on one core: the serial part, and the overhead that each core adds."""


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
_WORKER_GFLOP_PER_S = 60.0
"""Effective speed of five cores at 2 GHz with a peak of 160."""
_LINK_BYTES_PER_S = 125e6
_BYTES = 4
_ASKED, _MOST = 4, 16
_MEDIAN_JOB_S, _SIGMA_JOB_S = 1800.0, 0.8
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


def slaq_jobs(count: int, rng: np.random.Generator) -> tuple[list[str], WorkModels]:
    """Equally many jobs per algorithm; a step is an iteration of its curve."""
    names = _shuffled(SLAQ_CURVES, count, rng)
    curves = [bundled_curve(name) for name in names]
    steps = np.array([len(curve.losses) - 1 for curve in curves])
    core_s = _MEDIAN_CORE_S * rng.lognormal(0.0, _SIGMA_CORE_S, count) / steps
    zero, one = np.zeros(count), np.ones(count)
    speed = np.column_stack([core_s, _SERIAL * core_s, zero, _PER_CORE * core_s, zero, one])
    return names, WorkModels.of(
        steps,
        int(SpeedMode.SYNC),
        _rounded(speed),
        curves=curves,
        workers=_CORES,
        max_workers=_MOST_CORES,
    )


def optimus_jobs(count: int, rng: np.random.Generator) -> tuple[list[str], WorkModels]:
    """Equally many jobs per model, every other job synchronous."""
    by_name = {model.name: model for model in OPTIMUS_MODELS}
    models = [by_name[name] for name in _shuffled(tuple(by_name), count, rng)]
    mode = rng.permutation(np.resize([int(SpeedMode.SYNC), int(SpeedMode.ASYNC)], count))
    speed = np.array([_ps_speed(model, kind) for model, kind in zip(models, mode, strict=True)])
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
    job_s = _MEDIAN_JOB_S * rng.lognormal(0.0, _SIGMA_JOB_S, count)
    roles: dict[str, Any] = {"workers": _ASKED, "servers": _ASKED, "max_workers": _MOST}
    roles |= {"min_servers": 1, "max_servers": _MOST, "server_gpus": 1}
    once = WorkModels.of(np.ones(count, dtype=np.int64), mode, _rounded(speed), **roles)
    steps = np.rint(job_s * once.speeds.steps_per_s(_ASKED, _ASKED) / until)
    planned = np.maximum(steps, 1)
    work = WorkModels.of(planned, mode, _rounded(speed), curves=curves, target_loss=target, **roles)
    return [model.name for model in models], work


def _ps_speed(model: _Model, mode: int) -> tuple[float, ...]:
    """Speed parameters of a model. A synchronous job divides a batch of 4 workers among its
    workers; an asynchronous worker computes one worker's batch per step. Gradients and
    parameters cross the servers' links.
    """
    step_s = model.batch_gflop / _WORKER_GFLOP_PER_S
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
    "slaq-160": ElasticRecipe(160, Poisson(15.0), slaq_jobs),
    "optimus-50": ElasticRecipe(50, Poisson(240.0), optimus_jobs),
}
