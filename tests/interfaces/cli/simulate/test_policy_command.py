"""`motet policy`: what there is, and what it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from motet.engine.policy_loading.catalogue import built_in_policies
from motet.interfaces.cli.policy.command import policy_command
from motet.sim.common_settings import COMMON_SETTINGS


def output_of(*arguments: str) -> str:
    result = CliRunner().invoke(policy_command, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_every_policy_is_listed_with_a_sentence() -> None:
    lines = output_of("list").splitlines()

    assert [line.split()[0] for line in lines] == list(built_in_policies())
    for line in lines:
        sentence = line.split(maxsplit=1)[1]
        assert sentence.endswith(".")
        assert not sentence.startswith("`")
        assert sentence.count("(") == sentence.count(")")


@pytest.mark.parametrize("name", built_in_policies())
def test_every_policy_is_described_with_all_that_set_takes(name: str) -> None:
    document = json.loads(output_of("describe", name, "--json"))
    names = {entry["name"] for entry in document["parameters"]}

    assert names >= set(COMMON_SETTINGS)
    assert set(built_in_policies()[name].__match_args__) <= names
    assert "Parameters of every policy:" in output_of("describe", name)


@pytest.mark.parametrize("name", built_in_policies())
def test_a_description_begins_with_the_summary(name: str) -> None:
    sentence = json.loads(output_of("describe", name, "--json"))["summary"]
    described = " ".join(output_of("describe", name).split())

    assert described.startswith(f"{name}: {sentence.rstrip('.')}")


def test_defaults_are_written_as_one_would_set_them() -> None:
    text = output_of("describe", "tiresias-las")

    assert "  thresholds=3200 " in text
    assert "  promote_knob=inf " in text
    assert "  placement=skew " in text


def test_a_policy_of_ones_own_is_described_from_its_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("from motet.policies.fifo import Fifo\nPOLICIES = {'my-fifo': Fifo}\n")

    assert output_of("describe", str(mine)).startswith("my-fifo: Starts jobs in order")
