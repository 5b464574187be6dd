"""The kinds of data that applications need, as in `Application.dataset_kind`."""

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


def kind_needed(need: str | None) -> type[Dataset] | None:
    """Return the class for a need; None if any data will do. Raises `UnknownName`."""
    if need is None:
        return None
    for name, kind in _WANTED:
        if name == need:
            return kind
    raise UnknownName("kind of data", need, [name for name, _ in _WANTED])


def require(dataset: Dataset, need: str | None) -> Dataset:
    """Return the data set if it fulfils the need. Raises `BadInput` otherwise."""
    require_kind(dataset.source, type(dataset), need)
    if need == "labelled" and isinstance(dataset, LabelledMatrix):
        dataset.require_target()
    return dataset


def require_kind(source: str, kind: type[Dataset], need: str | None) -> None:
    """Raise `BadInput` if that kind of data does not fulfil the need."""
    wanted = kind_needed(need)
    if wanted is not None and not issubclass(kind, wanted):
        problem = f"{source}: holds {kind.described}, this application needs {wanted.described}"
        raise BadInput(f"{problem}; give data of that kind")
