"""`open_dataset`: from a path or a name to data in memory."""

from __future__ import annotations

from typing import Literal

from motet.datasets.builtin import catalogue
from motet.datasets.kinds import Dataset
from motet.datasets.needs import require
from motet.domain.errors import BadInput

Role = Literal["train", "test"]


def open_dataset(path_or_name: str, *, kind: str | None = None, role: Role = "train") -> Dataset:
    if catalogue.is_known(path_or_name):
        return require(catalogue.load(path_or_name, role), kind)
    raise BadInput(f"{path_or_name}: no such file")
