"""What a policy file declares is complete and of the right types, or it is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.domain.policy import Policy
from motet.engine.policy_loading.policy_file import policies_in
from own_policies import own_policy

MEMORY = 'memory_columns: ClassVar[dict[str, int]] = {"seen": 0}'


def declaring(folder: Path, declared: str) -> Path:
    mine = own_policy(folder)
    mine.write_text(mine.read_text().replace(MEMORY, declared))
    return mine


def test_a_class_that_declares_nothing_has_the_defaults_of_policy(tmp_path: Path) -> None:
    mine = policies_in(declaring(tmp_path, "pass"))["mine"]
    assert not issubclass(mine, Policy)
    assert mine.memory_columns == {}
    assert (mine.knows_durations, mine.wants_estimates, mine.wants_machine_speeds) == (False,) * 3
    assert mine.placement == Policy.placement
    capabilities = Policy.__annotations__
    assert {"may_overtake", "keeps_requests"} <= capabilities.keys()
    assert all(getattr(mine, name) == getattr(Policy, name) for name in capabilities)


def test_what_a_class_declares_is_kept(tmp_path: Path) -> None:
    declared = f"{MEMORY}; wants_estimates: ClassVar[bool] = True; placement = 'skew'"
    mine = policies_in(declaring(tmp_path, declared))["mine"]
    assert mine.memory_columns == {"seen": 0}
    assert mine.wants_estimates
    assert not mine.knows_durations
    assert mine.placement == "skew"


def test_a_class_that_derives_from_policy_is_a_policy_of_its_own(tmp_path: Path) -> None:
    mine = declaring(tmp_path, MEMORY)
    text = mine.read_text().replace("class Mine:", "class Mine(Policy):")
    mine.write_text(f"from motet.domain.policy import Policy\n{text}")
    assert policies_in(mine)["mine"].memory_columns == {"seen": 0}
    assert Policy.memory_columns == {}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("memory_columns = None", "memory_columns is None; write memory_columns: ClassVar[dict["),
        ('memory_columns = {"seen": 0.5}', "memory_columns has a value for new jobs that is no"),
        ("wants_estimates = 1", "wants_estimates is 1; write wants_estimates: ClassVar[bool]"),
        ("knows_durations: bool = True", "knows_durations is a parameter here; write knows_dur"),
        ("wants_machine_speeds = 'yes'", "wants_machine_speeds is 'yes'; write wants_machine_"),
        ("needed_inputs = {'loss': 'x'}", "needed_inputs has an entry that is no JobInput with a"),
        ("useful_inputs = 5", "useful_inputs is 5; write useful_inputs: ClassVar[dict[JobInput"),
        ("placement = None", 'placement is None; write placement: ClassVar[str] = "skew"'),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_line_to_write(
    tmp_path: Path, declared: str, said: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(f"POLICIES['mine']: Mine: {said}")):
        policies_in(declaring(tmp_path, declared))


def test_a_policy_without_a_decide_of_its_own_is_refused(tmp_path: Path) -> None:
    mine = declaring(tmp_path, MEMORY)
    text = mine.read_text().replace("class Mine:", "class Mine(Policy):")
    mine.write_text("from motet.domain.policy import Policy\n" + text.replace("decide", "choose"))
    with pytest.raises(BadInput, match=re.escape("Mine has no decide(self, snapshot)")):
        policies_in(mine)
