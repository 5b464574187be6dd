"""GPUs of this machine: named, inherited, or listed by nvidia-smi."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.usable_hardware import chosen_devices

LISTS_TWO = 'test "$1" = --query-gpu=index && echo 0 && echo 1'
FAILS = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18"


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a program of this name; without a script there is none."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def install(script: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    return install


def test_all_gpus_are_offered_where_the_driver_lists_them(
    nvidia_smi: Callable[[str], None],
) -> None:
    assert chosen_devices("auto", {}) == ()
    nvidia_smi(LISTS_TWO)
    assert chosen_devices("auto", {}) == ("0", "1")
    assert chosen_devices("none", {}) == ()


def test_inherited_gpus_are_offered(nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi(LISTS_TWO)
    name = "CUDA_VISIBLE_DEVICES"
    assert chosen_devices("auto", {name: "1"}) == ("1",)
    assert chosen_devices("auto", {name: "GPU-8932f937-d72c,MIG-5"}) == (
        "GPU-8932f937-d72c",
        "MIG-5",
    )
    assert chosen_devices("auto", {name: ""}) == chosen_devices("auto", {name: "-1"}) == ()
    assert chosen_devices("0, 3", {name: "1"}) == ("0", "3")


def test_a_broken_driver_is_an_error(nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi(FAILS)
    with pytest.raises(BadInput, match=r"\(Failed to initialize NVML.*\); mend .*--gpus none"):
        chosen_devices("auto", {})


@pytest.mark.parametrize("given", ["", "all", "0,,1", "0;1", "-1", "1,1"])
def test_lists_without_meaning_are_refused(given: str) -> None:
    with pytest.raises(BadInput, match=f"--gpus {given}: "):
        chosen_devices(given, {})
