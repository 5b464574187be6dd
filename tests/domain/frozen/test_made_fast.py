import pickle
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature

import pytest

from motet.domain.decision import Decision, Reasons
from motet.domain.frozen.made_fast import made_fast
from motet.domain.snapshot import JobTable, Snapshot


@made_fast
@dataclass(frozen=True, eq=False, slots=True)
class Size:
    """As the values that it serves: defaults, and a default that is made for every object."""

    width: int
    height: int = 2
    notes: list[str] = field(default_factory=list)

    @property
    def area(self) -> int:
        return self.width * self.height


def values(size: Size) -> tuple[object, ...]:
    assert type(size) is Size
    return size.width, size.height, size.notes


def test_objects_have_what_they_are_given_and_defaults() -> None:
    first, second = Size(3), Size(4, height=5, notes=["x"])
    assert (values(first), first.area) == ((3, 2, []), 6)
    assert (values(second), second.area) == ((4, 5, ["x"]), 20)
    assert first.notes is not Size(3).notes
    assert list(signature(Size).parameters) == ["width", "height", "notes"]


def test_objects_cannot_change() -> None:
    with pytest.raises(FrozenInstanceError, match="width"):
        Size(3).width = 4  # type: ignore[misc]


def test_a_missing_value_is_named() -> None:
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required .* 'width'"):
        Size()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="depth"):
        Size(3, depth=1)  # type: ignore[call-arg]


def test_objects_can_be_copied_replaced_and_pickled() -> None:
    size = Size(3, 4, ["x"])
    for twin in (copy(size), deepcopy(size), pickle.loads(pickle.dumps(size)), replace(size)):
        assert values(twin) == (3, 4, ["x"])
    assert copy(size).notes is size.notes
    assert deepcopy(size).notes is not size.notes
    assert values(replace(size, width=5)) == (5, 4, ["x"])


def test_a_subclass_with_other_slots_is_refused_when_it_is_made() -> None:
    class Larger(Size):
        pass

    with pytest.raises(TypeError, match="layout"):
        Larger(3)


def test_the_values_of_every_decision_are_made_fast() -> None:
    assert all("__init__" not in vars(kind) for kind in (Snapshot, JobTable, Decision, Reasons))
