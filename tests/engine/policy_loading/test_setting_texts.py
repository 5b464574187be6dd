"""Parameters as users write them."""

from __future__ import annotations

from typing import Any

import pytest

from motet.engine.policy_loading.setting_texts import setting_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), ((True, False), "true,false"), ((4.0, 20.0), "4.0,20.0"), ([], ""), (1, "1")],
)
def test_a_value_is_written_as_it_is_parsed(value: Any, text: str) -> None:
    assert setting_text(value) == text
