from __future__ import annotations

import numpy as np
import pytest
import torch

from motet.torch.array_views import DTYPES, array_of, tensor_of


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
def test_a_tensor_goes_through_an_array_unchanged(
    dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    tensor = torch.ones(shape).cumsum(-1).to(dtype) if shape else torch.tensor(2).to(dtype)
    back = tensor_of(array_of(tensor))
    assert back.dtype == dtype
    assert torch.equal(back, tensor)


def test_an_array_shares_the_memory_of_a_bfloat16_tensor() -> None:
    tensor = torch.zeros(2, dtype=torch.bfloat16)
    array = array_of(tensor)
    array[1] = array_of(torch.tensor(1.5, dtype=torch.bfloat16))
    assert array.dtype == np.uint16
    assert tensor.tolist() == [0, 1.5]
