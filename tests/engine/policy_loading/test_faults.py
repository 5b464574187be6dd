"""An error of a policy is attributed to the file that contains it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from motet.domain.snapshot import Snapshot
from motet.engine.policy_loading.faults import BrokenPolicy, fault
from motet.engine.policy_loading.policy_file import policies_in
from motet.policies.fifo import Fifo
from own_policies import FAULT_LINE, own_policy

_DERIVED = """\
from dataclasses import dataclass

from motet.policies.fifo import Fifo


@dataclass(frozen=True)
class Mine(Fifo):
    {body}


POLICIES = {{"mine": Mine}}
"""
_BODY_LINE = 8
_NO_SNAPSHOT = cast(Snapshot, None)
"""Every policy fails with it."""


def found_in(policy: type[Any]) -> BrokenPolicy | None:
    with pytest.raises((AttributeError, ZeroDivisionError)) as raised:
        policy().decide(_NO_SNAPSHOT)
    return fault(raised.value, policy)


def derived(folder: Path, body: str) -> type[Any]:
    path = folder / "derived.py"
    path.write_text(_DERIVED.format(body=body), encoding="utf-8")
    return policies_in(path)["mine"]


def test_an_error_of_a_built_in_policy_is_not_attributed_to_the_user() -> None:
    assert found_in(Fifo) is None


def test_an_error_in_a_file_of_the_user_names_the_line(tmp_path: Path) -> None:
    policies: Mapping[str, type[Any]] = policies_in(own_policy(tmp_path))
    found = found_in(policies["mine"])
    assert str(found).startswith(f"{tmp_path}/mine.py:{FAULT_LINE - 3} in decide: AttributeError: ")


def test_an_error_in_a_class_that_derives_from_a_built_in_policy_names_its_line(
    tmp_path: Path,
) -> None:
    found = found_in(derived(tmp_path, "def decide(self, snapshot): return 1 / 0"))
    place = f"{tmp_path}/derived.py:{_BODY_LINE} in decide"
    assert str(found) == f"{place}: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "body", ["pass", "def decide(self, snapshot): return super().decide(snapshot)"]
)
def test_an_error_in_the_built_in_base_class_is_not_attributed_to_the_user(
    tmp_path: Path, body: str
) -> None:
    assert found_in(derived(tmp_path, body)) is None
