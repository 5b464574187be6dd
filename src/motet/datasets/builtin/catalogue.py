"""The catalogue of named data sets, and how names with settings are parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from motet.datasets.builtin import pydoc, toys
from motet.datasets.builtin.settings import read_settings, require_known_keys, split_pairs
from motet.datasets.builtin.synthetic import GENERATORS, Generator
from motet.datasets.held_out import part_of
from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings
from motet.datasets.kinds.base import SplitRole
from motet.domain.errors import BadInput, UnknownName


@dataclass(frozen=True)
class Bundled:
    """A named data set that is available on every machine."""

    name: str
    summary: str
    kind: type[Dataset]
    load: Callable[[], Dataset]


_BUNDLED = (
    Bundled("breast-cancer", "569 tumours, 2 classes", LabelledMatrix, toys.load_breast_cancer),
    Bundled("diabetes", "442 patients, regression", LabelledMatrix, toys.load_diabetes),
    Bundled("digits", "1,797 images of digits, 10 classes", LabelledMatrix, toys.load_digits),
    Bundled("digits-ratings", "their pixels as ratings", Ratings, toys.load_digits_ratings),
    Bundled("iris", "150 flowers, 3 classes", LabelledMatrix, toys.load_iris),
    Bundled("pydoc", "documentation of Python's standard library", Corpus, pydoc.load_pydoc),
    Bundled("wine", "178 wines, 3 classes", LabelledMatrix, toys.load_wine),
)
BUNDLED: Mapping[str, Bundled] = MappingProxyType({entry.name: entry for entry in _BUNDLED})


def dataset_names() -> list[str]:
    """Return all names that `open_dataset` accepts instead of a file."""
    return sorted([*BUNDLED, *GENERATORS])


def is_known(text: str) -> bool:
    """Whether the text names a bundled data set or a generator, with or without settings."""
    name = text.partition(":")[0]
    return name in BUNDLED or name.startswith("synthetic-")


def kind_of(text: str) -> type[Dataset]:
    """Return the kind of the named data set without loading it."""
    name = text.partition(":")[0]
    return BUNDLED[name].kind if name in BUNDLED else _generator(name).kind


def load(text: str, role: SplitRole) -> Dataset:
    """Load `digits`, `digits:part=test`, `synthetic-corpus:topics=8,seed=3`, ...

    Raises `BadInput` for an unknown name, key or value.
    """
    name, _, settings = text.partition(":")
    if name in BUNDLED:
        return _load_bundled(BUNDLED[name], text, settings)
    return read_settings(_generator(name), name, settings).generate(text, role)


def _load_bundled(entry: Bundled, text: str, settings: str) -> Dataset:
    pairs = split_pairs(entry.name, settings)
    require_known_keys(entry.name, pairs, ("part",))
    match pairs.get("part"):
        case None:
            return entry.load()
        case "train" | "test" as part:
            return part_of(entry.load(), part, text)
        case other:
            raise BadInput(f"{entry.name}: part={other!r} is not a part; write train or test")


def _generator(name: str) -> type[Generator]:
    if name not in GENERATORS:
        raise UnknownName("generator", name, GENERATORS)
    return GENERATORS[name]
