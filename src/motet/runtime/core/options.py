"""What a training run is asked to do, and what it reports."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from motet.domain.errors import BadInput
from motet.runtime.core.consistency import DEFAULT_CONSISTENCY, Consistency

if TYPE_CHECKING:
    from motet.transport import Endpoint

Stragglers = Literal["ignore", "help"]

DEFAULT_LOST_AFTER_S = 30.0
LEAST_LOST_AFTER_S, _MOST_LOST_AFTER_S = 1.0, 1e6
DEFAULT_SPILL_FOLDER = Path("/var/tmp")
AUTO_SHARE, MODEL_ALONE = "auto", "model"
_SPILL_VALUES = f"{AUTO_SHARE}, {MODEL_ALONE} or between 0 and 1"

# An epoch that leaves the loss exactly as it is may have rejected a step that was too long
# (Newton, L-BFGS); so many in a row have converged.
_MOST_REJECTED = 5


@dataclass(frozen=True)
class StopRule:
    """Train until convergence: `loss <= value`, or relative improvement per epoch `< value`."""

    kind: Literal["loss", "improvement"]
    value: float

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """From `loss=X` or `improvement=Y`. Raises BadInput."""
        kind, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if kind == "loss" and value == value:
            return cls("loss", value)
        if kind == "improvement" and value > 0:
            return cls("improvement", value)
        raise BadInput(
            f"--until {text!r}: write loss=NUMBER or improvement=NUMBER (above 0, for example 1e-4)"
        )

    def met(self, losses: list[float]) -> bool:
        """Whether training may stop after these epochs' losses."""
        if not losses:
            return False
        if self.kind == "loss":
            return losses[-1] <= self.value
        if len(losses) < 2:
            return False
        previous, last = losses[-2:]
        if previous == last:
            return len(losses) > _MOST_REJECTED and set(losses[-_MOST_REJECTED - 1 :]) == {last}
        return abs(previous - last) < self.value * max(abs(previous), 1e-300)


@dataclass(frozen=True)
class SpillLenders:
    """Machines that lend memory (`motet memory lend`). `slab_bytes`: their unit of lending;
    `client`: the name that they see."""

    endpoints: tuple[Endpoint, ...]
    secret: bytes = field(repr=False)
    slab_bytes: int
    client: str = "spill"


@dataclass(frozen=True)
class SpillOptions:
    """`share`: of every worker's input, 0 to 1; None: as much as the memory of its machine makes
    necessary, found while it trains, and then the model. `folder`: on a disk of every machine.
    `model`: the model is on disk, too, from the beginning. `lenders`: have all of it in their
    memory, too, as far as they have room, from where it is read; None: there are none.

    Raises BadInput.
    """

    share: float | None
    folder: Path = DEFAULT_SPILL_FOLDER
    model: bool = False
    lenders: SpillLenders | None = None

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 1:
            raise BadInput(f"spill={self.share:g}: must be {_SPILL_VALUES}")

    @property
    def may_spill_model(self) -> bool:
        """Whether blocks of the model may be on disk at some time."""
        return self.model or self.share is None

    @classmethod
    def parse(
        cls, text: str, folder: Path | None, lenders: SpillLenders | None = None
    ) -> SpillOptions:
        """From `auto`, `model` (it alone is on disk) or a number. Raises BadInput."""
        place = Path(tempfile.gettempdir()) if folder is None else folder
        if folder is None and DEFAULT_SPILL_FOLDER.is_dir():
            place = DEFAULT_SPILL_FOLDER
        if text == AUTO_SHARE:
            return cls(None, place, lenders=lenders)
        if text == MODEL_ALONE:
            return cls(0.0, place, model=True, lenders=lenders)
        try:
            return cls(float(text), place, lenders=lenders)
        except ValueError as error:
            raise BadInput(f"spill={text}: must be {_SPILL_VALUES}") from error


@dataclass(frozen=True)
class TrainOptions:
    """One parameter-server job on a cluster.

    `workers` and `servers` are counts of machines in that role; with `workers + servers > machines`
    some machines host both. `tol`: training ends early once it has converged to it
    (`convergence.py`; 0: never), under SSP and async at the next checkpoint. `spent_s`: seconds
    that the run took before this job, in start-up and up to the checkpoint that it resumes; they
    count in `TrainResult.wall_s`. `stragglers`: with "help" idle workers compute instances of late
    ones (BSP only); sums are then added in an order that depends on who was late. `lost_after_s`:
    an executor that has answered nothing for so long counts as lost. `spill`: input that is kept on
    disk; None: none is.
    """

    machines: int
    workers: int
    servers: int
    epochs: int
    seed: int = 0
    consistency: Consistency = DEFAULT_CONSISTENCY
    worker_batch_size: int | None = None
    until: StopRule | None = None
    checkpoint_every: int = 10
    checkpoint_dir: Path | None = None
    resume: bool = False
    max_recoveries: int = 5
    port: int = 0
    tol: float = 0.0
    spent_s: float = 0.0
    stragglers: Stragglers = "ignore"
    lost_after_s: float = DEFAULT_LOST_AFTER_S
    spill: SpillOptions | None = None

    def __post_init__(self) -> None:
        for role, count in (("workers", self.workers), ("servers", self.servers)):
            if not 1 <= count <= self.machines:
                raise BadInput(
                    f"{role}={count}: must be between 1 and machines={self.machines}; "
                    f"lower --{role} or raise --machines"
                )
        if self.stragglers == "help" and not self.consistency.is_lockstep:
            raise BadInput(
                f"stragglers=help with consistency={self.consistency.name}: only under bsp do "
                "workers wait for late ones; leave one of them out"
            )
        if self.stragglers == "help" and self.spill is not None:
            raise BadInput(
                "stragglers=help with spill: helpers need the instances of late workers in memory; "
                "leave one of them out"
            )
        if not LEAST_LOST_AFTER_S <= self.lost_after_s <= _MOST_LOST_AFTER_S:
            raise BadInput(
                f"lost_after={self.lost_after_s:g}: must be between {LEAST_LOST_AFTER_S:g} and "
                f"{_MOST_LOST_AFTER_S:.0f} seconds"
            )
        if self.epochs < 1:
            raise BadInput(f"epochs={self.epochs}: must be at least 1")
        if self.worker_batch_size is not None and self.worker_batch_size < 1:
            raise BadInput(f"worker_batch_size={self.worker_batch_size}: must be at least 1")
        if self.checkpoint_every < 1:
            raise BadInput(f"checkpoint_every={self.checkpoint_every}: must be at least 1 (epochs)")
