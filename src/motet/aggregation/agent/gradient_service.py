"""The port between a training framework and the Aggregators of its job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from motet.aggregation.agent.tensor_bucket import BucketMemory, TensorBucket
from motet.aggregation.wire.tensor_spec import GroupOptions, OptimizerSpec, TensorSpec


class Pending(Protocol):
    """An operation in flight."""

    def wait(self, timeout_s: float | None = None) -> None:
        """Return once it is done. Raises what went wrong, or TimeoutError."""
        ...


class GradientService(Protocol):
    """One worker's access to its job's Aggregators.

    Training is synchronous. Steps count from 1; version v of a tensor is its value after v steps.
    One thread of the program calls; sending and receiving go on in the background. `rank`: from 0
    to `workers` - 1.
    """

    rank: int
    workers: int

    @property
    def steps_done(self) -> int:
        """Steps of the job that this worker knows to have ended, also those before it joined."""
        ...

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array in memory that Aggregators on this host access without a copy."""
        ...

    def initialise(
        self,
        tensors: Sequence[TensorSpec],
        optimizer: OptimizerSpec,
        values: Sequence[NDArray[Any]],
    ) -> int:
        """Register the tensors. All workers call it, with equal specifications.

        The values of rank 0 become version 0. Where the job has trained already (this worker
        joins, or comes back), the current version counts. `values` of every worker are overwritten
        with that version, which is returned. Raises BadInput: the specifications differ.
        """
        ...

    def push(self, tensor: int, gradient: NDArray[Any]) -> None:
        """Begin to send this worker's gradient of the current step; the memory must stay
        unchanged until the next version of the tensor is pulled. A second push of the tensor in
        one step replaces the first (accumulated gradients). The gradient of a float32 tensor may
        be bfloat16 (uint16), and the memory for its mean too: half of the bytes travel."""
        ...

    def mean(self, tensor: int, into: NDArray[Any]) -> Pending:
        """Receive the mean of all workers' gradients of the current step; a worker that
        `finish_step`ped, or asks for the mean, without a push counts as zeros."""
        ...

    def finish_step(self, groups: Sequence[GroupOptions], *, is_applied: bool = True) -> int:
        """End the step; what was pushed is final. Returns the number of the new version.

        `groups`: the options of the parameter groups in this step (rank 0's count). A tensor that
        no worker pushed keeps its value and its state, as in torch.optim. `is_applied=False`:
        the Aggregators run no optimizer (the program uses the means itself).
        """
        ...

    def pull(self, tensor: int, into: NDArray[Any], *, keeps_order: bool = False) -> Pending:
        """Receive the current version of a tensor.

        `keeps_order`: the request leaves no later than those of later calls.
        """
        ...

    def bucket(self, tensors: tuple[int, ...]) -> TensorBucket:
        """How small tensors of one type lie best in one memory: the same as long as that is so.

        Such memory has the type of their gradients, means or values. The methods for it do what
        those for one tensor do for some of its tensors, whose numbers ascend, in less time."""
        ...

    def push_bucket(self, memory: BucketMemory, tensors: tuple[int, ...]) -> None:
        """See `push`."""
        ...

    def bucket_means(self, memory: BucketMemory, tensors: tuple[int, ...]) -> Pending:
        """See `mean`."""
        ...

    def pull_bucket(
        self, memory: BucketMemory, tensors: tuple[int, ...], *, keeps_order: bool = False
    ) -> Pending:
        """See `pull`."""
        ...

    def flush(self) -> None:
        """Send requests that were kept to be sent with others; waiting for one sends them too."""
        ...

    def prioritise(self, tensors: Sequence[int]) -> None:
        """The order in which the program needs new values: those of the first tensors are computed
        and sent first. At first it is the order of the tensors' numbers."""
        ...

    def state(self) -> Sequence[Mapping[str, NDArray[np.generic]]]:
        """The optimizer's state of each tensor at the current version, with torch.optim's names."""
        ...

    def load(
        self,
        values: Sequence[NDArray[Any]],
        state: Sequence[Mapping[str, NDArray[np.generic]]],
        first: int = 0,
    ) -> None:
        """Replace tensors, from number `first` on, and their state by rank 0's. All workers call it
        between steps."""
        ...

    def broadcast(
        self, arrays: Sequence[NDArray[Any]], fill: Callable[[], None] | None = None
    ) -> bool:
        """Overwrite the arrays of every worker with those of rank 0, after its death with those of
        the next one. All workers call it. Returns whether this worker's were overwritten.

        `fill` puts this worker's values into its arrays: called before they are sent, and only
        then."""
        ...

    def close(self) -> None:
        """Leave the job between two steps."""
        ...
