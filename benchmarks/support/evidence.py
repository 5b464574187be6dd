"""What a walk through configurations says: epoch times with their noise, and predictions. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

import numpy as np

from motet.cruise.calibration.link_queue import queue_of
from motet.estimate.epoch_cost import Configuration, Fleet, Profile, epoch_s, exchange_s

Shape = tuple[int, int]
"""Numbers of workers and of servers."""


@dataclass(frozen=True)
class Visit:
    """The settled epochs of one stop of a walk.

    Times are medians over the epochs, `comp_s` and `comm_s` means over the workers; `moved_bytes`:
    pulled and pushed by all workers in an epoch, `pushed_bytes`: of them; blocks: on every machine.
    """

    shape: Shape
    epochs: int
    epoch_s: float
    spread: float
    comp_s: float
    comm_s: float
    moved_bytes: float
    pushed_bytes: float
    batches: int
    instances: int
    data_blocks: tuple[int, ...]
    model_blocks: tuple[int, ...]

    @classmethod
    def of(cls, epochs: Sequence[Mapping[str, Any]]) -> Visit:
        """From the events of its epochs. `spread`: standard deviation / median of epoch times."""
        last, walls = epochs[-1], [epoch["wall_s"] for epoch in epochs]
        return cls(
            shape=(last["workers"], last["servers"]),
            epochs=len(epochs),
            epoch_s=median(walls),
            spread=float(np.std(walls)) / median(walls),
            comp_s=median(epoch["comp_s"] for epoch in epochs),
            comm_s=median(epoch["comm_s"] for epoch in epochs),
            moved_bytes=median(it["bytes_pulled"] + it["bytes_pushed"] for it in epochs),
            pushed_bytes=median(it["bytes_pushed"] for it in epochs),
            batches=len(last["batch_s"]),
            instances=last["instances"],
            data_blocks=tuple(last["data_blocks"]),
            model_blocks=tuple(last["model_blocks"]),
        )


def visits_of(events: Iterable[Mapping[str, Any]]) -> list[Visit]:
    """The stops of a walk, in its order; those without a settled epoch are left out."""
    by_stop: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:
        if event["kind"] == "epoch" and event["is_settled"]:
            by_stop[event["stop"]].append(event)
    return [Visit.of(epochs) for _, epochs in sorted(by_stop.items())]


@dataclass(frozen=True)
class Grid:
    """Every configuration that was visited, with all of its visits."""

    visits: Mapping[Shape, tuple[Visit, ...]]

    @classmethod
    def of(cls, visits: Iterable[Visit]) -> Grid:
        """Visits by configuration, in the order of workers."""
        by_shape: dict[Shape, list[Visit]] = defaultdict(list)
        for visit in visits:
            by_shape[visit.shape].append(visit)
        return cls({shape: tuple(by_shape[shape]) for shape in sorted(by_shape)})

    def epoch_s(self, shape: Shape) -> float:
        """The mean of its visits."""
        return fmean(visit.epoch_s for visit in self.visits[shape])

    @property
    def best(self) -> Shape:
        """Where an epoch was shortest."""
        return min(self.visits, key=self.epoch_s)

    def excess(self, shape: Shape) -> float:
        """How much longer its epoch is than the best, relatively."""
        return self.epoch_s(shape) / self.epoch_s(self.best) - 1

    @property
    def noise(self) -> float:
        """How far a configuration's visits are from their mean, relatively.

        The root mean square of all that have several: the standard deviation of one visit.
        """
        squares, freedom = 0.0, 0
        for shape, visits in self.visits.items():
            mean_s = self.epoch_s(shape)
            squares += sum((visit.epoch_s / mean_s - 1) ** 2 for visit in visits)
            freedom += len(visits) - 1
        return float(np.sqrt(squares / freedom)) if freedom else 0.0


@dataclass(frozen=True)
class Prediction:
    """What a profile measured at `start` says of `shape`, and what was measured there."""

    start: Shape
    shape: Shape
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """Relative; above 0: predicted too long."""
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True)
class Model:
    """The cost model as Motet fits it to one configuration; `overhead_s`: per epoch, in any."""

    profile: Profile
    fleet: Fleet
    overhead_s: float

    @classmethod
    def fitted(cls, visits: Sequence[Visit]) -> Model:
        """Equal machines with the measured COMP, and the measured COMM of who is served last."""
        one = visits[0]
        workers, machines = one.shape[0], len(one.data_blocks)
        profile = Profile(
            instances=one.instances,
            batch_size=-(-one.instances // one.batches),
            exchange_bytes=one.moved_bytes / (one.batches * workers),
            data_blocks=sum(one.data_blocks),
            model_blocks=sum(one.model_blocks),
        )
        comp_s = fmean(visit.comp_s for visit in visits)
        comm_s = fmean(visit.comm_s for visit in visits) / one.batches
        measured_s = fmean(visit.epoch_s for visit in visits)
        unit = Fleet.uniform(machines, comp_s * workers / one.instances, 1.0)
        placed = Configuration(one.data_blocks, one.model_blocks)
        is_worker = np.array(one.data_blocks) > 0
        link_bytes = float(exchange_s(profile, unit, placed)[is_worker].mean())
        sharing = link_bytes / profile.exchange_bytes
        most_comp_s = comp_s * max(one.data_blocks) * workers / profile.data_blocks
        beyond_s = (measured_s - most_comp_s) / one.batches
        queue = queue_of(workers, sharing, one.pushed_bytes / one.moved_bytes, comm_s, beyond_s)
        bandwidth = link_bytes / (comm_s * queue.factor - queue.latency_s)
        fleet = replace(unit, bandwidth_bytes_per_s=((bandwidth,),))
        return cls(profile, fleet, max(measured_s - epoch_s(profile, fleet, placed), 0.0))

    def epoch_s(self, visit: Visit) -> float:
        """The epoch with a visit's blocks."""
        placed = Configuration(visit.data_blocks, visit.model_blocks)
        return epoch_s(self.profile, self.fleet, placed) + self.overhead_s


def predictions(grid: Grid, starts: Iterable[Shape]) -> list[Prediction]:
    """The cost model, fitted at each start, about all other configurations."""
    made = []
    for start in starts:
        model = Model.fitted(grid.visits[start])
        made += [
            Prediction(start, shape, model.epoch_s(visits[0]), grid.epoch_s(shape))
            for shape, visits in grid.visits.items()
            if shape != start
        ]
    return made


@dataclass(frozen=True)
class ErrorStatistics:
    """Of absolute relative errors."""

    count: int
    median: float
    p95: float
    worst: float

    @classmethod
    def of(cls, made: Sequence[Prediction]) -> ErrorStatistics:
        """Of at least one prediction."""
        errors = np.abs([each.error for each in made])
        return cls(
            len(made), float(np.median(errors)), float(np.quantile(errors, 0.95)), errors.max()
        )
