"""Every public name of the package can be imported from `motet`."""

from __future__ import annotations

import pytest

import motet


@pytest.mark.parametrize("name", dir(motet))
def test_every_public_name_can_be_imported_from_the_top(name: str) -> None:
    assert getattr(motet, name) is not None


def test_a_name_that_does_not_exist_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'NFM'"):
        getattr(motet, "NFM")  # noqa: B009 - the point is the lookup by name
