"""The pins of packages: PyTorch is its build for CPUs."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import pytest

SPEC = importlib.util.spec_from_file_location(
    "lock", Path(__file__).parents[2] / "tools" / "lock.py"
)
assert SPEC is not None
assert SPEC.loader is not None
lock = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lock)

WHEEL = "https://download.pytorch.org/whl/cpu/torch-2.14.0%2Bcpu.whl"


def package(name: str, version: str, url: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "version": version}, "download_info": {"url": url}}


WITH_CUDA = [package("torch", "2.14.0"), package("nvidia-cudnn-cu13", "9")]
FOR_CPUS = [package("torch", "2.14.0+cpu", WHEEL), package("SymPy", "1.14.0")]
NOTHING = subprocess.CalledProcessError(1, "pip")


class Pip:
    """Finds one after the other of these, and notes what it was asked for last."""

    def __init__(self, *answers: list[dict[str, Any]] | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(
        self, python: str, *arguments: str, environment: dict[str, str] | None = None
    ) -> list[dict[str, Any]]:
        assert python == lock.OLDEST_PYTHON
        self.asked.append(arguments[-1])
        is_index = any(each.startswith("--index-url") for each in arguments)
        assert is_index == (environment is not None)  # Another source would have newer builds.
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def pinned() -> str:
    lines = lock.CONSTRAINTS.read_text().splitlines()
    return next(each for each in lines if each.startswith("torch=="))


def test_a_build_is_no_part_of_a_pin() -> None:
    assert lock.pins_of(FOR_CPUS) == ["sympy==1.14.0", "torch==2.14.0"]


def test_a_build_without_cuda_is_taken_as_it_is() -> None:
    assert lock.resolved_for_cpus(Pip(FOR_CPUS)) == FOR_CPUS


def test_the_newest_build_of_pytorchs_index_takes_the_place_of_one_with_cuda() -> None:
    pip = Pip(WITH_CUDA, FOR_CPUS[:1], FOR_CPUS)
    assert lock.resolved_for_cpus(pip) == FOR_CPUS
    assert pip.asked[1:] == ["torch", f"torch @ {WHEEL}"]


def test_without_that_index_the_pinned_version_stays() -> None:
    pip = Pip(WITH_CUDA, NOTHING, FOR_CPUS[:1], FOR_CPUS)
    assert lock.resolved_for_cpus(pip) == FOR_CPUS
    assert pip.asked[2] == f"{pinned()}+cpu"


def test_libraries_of_cuda_are_never_pinned() -> None:
    with pytest.raises(SystemExit, match=r"does not answer, and pip's own sources have no torch"):
        lock.resolved_for_cpus(Pip(WITH_CUDA, NOTHING, NOTHING))
