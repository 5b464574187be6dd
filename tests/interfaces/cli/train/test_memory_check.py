"""A model that cannot fit is refused before anything starts."""

from __future__ import annotations

import numpy as np
import pytest

from motet.apps.inputs.memory import free_memory_bytes
from motet.domain.errors import BadInput
from motet.interfaces.cli.train.memory_check import require_model_memory
from motet.runtime.core.application import ModelTable


def table_of(byte_count: int) -> ModelTable:
    return ModelTable(max(1, byte_count // 8), (1,), np.dtype(np.float64))


def test_a_small_model_is_accepted() -> None:
    require_model_memory(table_of(8000), workers=2, is_one_host=True, servers=1)


def test_a_model_as_large_as_the_free_memory_is_refused_with_the_numbers() -> None:
    with pytest.raises(BadInput, match=r"needs about .* of memory with 2 workers .* is free"):
        require_model_memory(table_of(free_memory_bytes()), workers=2, is_one_host=True, servers=1)


def test_on_a_real_cluster_servers_share_the_model() -> None:
    table = table_of(free_memory_bytes() // 2)

    require_model_memory(table, workers=2, is_one_host=False, servers=8)
    with pytest.raises(BadInput):
        require_model_memory(table, workers=2, is_one_host=False, servers=1)
