"""Tensors that lie one after the other in memory that Aggregators of this host access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from motet.aggregation.agent.gradient_service import GradientService
from motet.aggregation.agent.tensor_bucket import BucketMemory, TensorBucket
from motet.torch.array_views import array_of


class FlatTensors:
    """`memory`: as the service sends it, or receives into it."""

    def __init__(
        self,
        service: GradientService,
        bucket: TensorBucket,
        shapes: Mapping[int, torch.Size],
        dtype: torch.dtype,
    ) -> None:
        """`shapes`: of the bucket's tensors, by number."""
        whole = torch.from_numpy(service.empty(bucket.size * dtype.itemsize, "uint8")).view(dtype)
        self.memory = BucketMemory(bucket, array_of(whole))
        self._views = {n: whole[bucket.place(n)].view(shape) for n, shape in shapes.items()}
        self._all = [*self._views.values()]

    def tensors(self, numbers: Sequence[int]) -> list[torch.Tensor]:
        """Some of the tensors, in the order of `shapes`, or all of them."""
        if len(numbers) == len(self._all):
            return self._all
        return [self._views[number] for number in numbers]
