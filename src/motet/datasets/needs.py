"""What an application asks of its data, in the words of `Application.dataset_kind`."""

from __future__ import annotations

from typing import Literal

from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings
from motet.domain.errors import BadInput, UnknownName

Need = Literal["labelled", "unlabelled", "ratings", "corpus"]

_WANTED: tuple[tuple[Need, type[Dataset]], ...] = (
    ("labelled", LabelledMatrix),
    ("unlabelled", LabelledMatrix),
    ("ratings", Ratings),
    ("corpus", Corpus),
)


def kind_needed(need: str | None) -> type[Dataset]:
    """The class that fulfils a need; `Dataset` itself where anything will do."""
    if need is None:
        return Dataset
    for name, kind in _WANTED:
        if name == need:
            return kind
    raise UnknownName("kind of data", need, [name for name, _ in _WANTED])


def require(dataset: Dataset, need: str | None) -> Dataset:
    """The data set itself, once it is what was needed; raises `BadInput` where it is not."""
    wanted = kind_needed(need)
    if not isinstance(dataset, wanted):
        raise BadInput(
            f"{dataset.source}: holds a {dataset.kind}, a {wanted.kind} is needed; "
            "give data of that kind"
        )
    if need == "labelled" and isinstance(dataset, LabelledMatrix):
        dataset.require_target()
    return dataset
