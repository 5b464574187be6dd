"""Put random faults into the code, one at a time, and report which ones the tests catch.

    python tools/mutation_check.py                        # thirty faults, seed 1
    python tools/mutation_check.py --seed 7 --count 5     # others, fewer
    python tools/mutation_check.py --only engine/step.py  # in one file

Faults are drawn by line (`tools/mutations.py` lists the kinds). Each is put into a copy of the
tree, on which the test files nearest to the changed module run (`tools/test_map.py`), twelve at a
time, until the first failure; a test that exceeds its time counts as a failure. Tests that start
executors in processes of their own are left out.
At the end the tests that failed run on an unchanged copy: one that fails there too proves nothing.

Exit status 0: at least nine of ten faults were caught; 1: fewer; 2: a test fails without a fault.
`tools/mutation_survivors.txt` explains survivors that a reviewer found harmless.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from mutations import Mutation, mutations_of
from test_map import REPOSITORY, ImportGraph

PACKAGES = ("runtime/server", "runtime/client", "runtime/controller", "engine")
COUNT = 30
MOST_SURVIVORS = 0.1
TESTS_AT_ONCE, MOST_TESTS = 12, 48
TEST_TIMEOUT_S = 60
RUN_TIMEOUT_S = 900
PYTEST_OK, PYTEST_FAILED, PYTEST_NO_TESTS = 0, 1, 5


@dataclass(frozen=True)
class Mutant:
    """One fault in one file; `path` is relative to the repository."""

    path: Path
    mutation: Mutation

    def __str__(self) -> str:
        return f"{self.path.as_posix()}:{self.mutation.line} {self.mutation.what}"

    def diff(self) -> str:
        before = (REPOSITORY / self.path).read_bytes()
        after = self.mutation.applied_to(before)
        old, new = (text.decode().splitlines(keepends=True) for text in (before, after))
        return "".join(difflib.unified_diff(old, new, "original", "mutant", n=1))


@dataclass(frozen=True)
class Verdict:
    """What the tests made of a mutant; `failed` is the first test that failed, "" if none did."""

    mutant: Mutant
    is_caught: bool
    failed: str
    test_files: int
    wall_s: float


class Copy:
    """A copy of the checkout, with its compiled kernels."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.check_output(listed, cwd=REPOSITORY, text=True).splitlines()
        kernels = [it.relative_to(REPOSITORY) for it in (REPOSITORY / "src").rglob("*.nb[ic]")]
        for name in [*map(Path, names), *kernels]:
            if (REPOSITORY / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, folder / name)

    @contextmanager
    def with_fault(self, mutant: Mutant) -> Iterator[None]:
        path = self._folder / mutant.path
        try:
            path.write_bytes(mutant.mutation.applied_to(path.read_bytes()))
            self._forget_compiled(path)
            yield
        finally:
            shutil.copy2(REPOSITORY / mutant.path, path)
            self._forget_compiled(path)

    def pytest(self, tests: Sequence[str], *options: str) -> tuple[int, str]:
        """Exit status and output; a run that does not end counts as a failed one."""
        fixed = ["-q", "--no-header", "-rfE", "-p", "no:cacheprovider"]
        limits = [f"--timeout={TEST_TIMEOUT_S}", "-m", "not cluster and not testbed and not soak"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *fixed, *limits, *options, *tests],
            cwd=self._folder,
            env=self._environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            out, _ = process.communicate(timeout=RUN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return PYTEST_FAILED, out
        return process.returncode, out

    def require_own_sources(self) -> None:
        """The installed package is the checkout itself; the copy's must come before it."""
        program = [sys.executable, "-c", "import motet; print(motet.__file__)"]
        found = subprocess.check_output(program, env=self._environment(), text=True)
        if self._folder not in Path(found).parents:
            sys.exit(f"mutation_check: tests in {self._folder} would import {found.strip()}")

    def _environment(self) -> dict[str, str]:
        given = {"PYTHONPATH": str(self._folder / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        return {"MOTET_SHARED": str(REPOSITORY.parent / "shared"), **os.environ, **given}

    @staticmethod
    def _forget_compiled(path: Path) -> None:
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()


def drawn(seed: int, count: int, only: str) -> list[Mutant]:
    """Random lines of the packages, and one of the faults possible in each."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for package in PACKAGES:
        for path in sorted((REPOSITORY / "src" / "motet" / package).rglob("*.py")):
            name = path.relative_to(REPOSITORY)
            for mutation in mutations_of(path.read_bytes()) if only in name.as_posix() else ():
                by_line.setdefault((name, mutation.line), []).append(Mutant(name, mutation))
    generator = random.Random(seed)
    lines = generator.sample(sorted(by_line), min(count, len(by_line)))
    return [generator.choice(by_line[line]) for line in lines]


def judged(mutant: Mutant, copy: Copy, tests: ImportGraph) -> Verdict:
    began_s = time.monotonic()
    module = tests.module_of(REPOSITORY / mutant.path)
    nearest = [relation.test for relation in tests.tests_of(module)][:MOST_TESTS]
    status, out = PYTEST_NO_TESTS, ""
    with copy.with_fault(mutant):
        for begin in range(0, len(nearest), TESTS_AT_ONCE):
            status, out = copy.pytest(nearest[begin : begin + TESTS_AT_ONCE], "-x")
            if status not in (PYTEST_OK, PYTEST_NO_TESTS):
                break
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", out, re.MULTILINE)
    is_caught = status not in (PYTEST_OK, PYTEST_NO_TESTS)
    name = failed.group(1) if failed else "did not end or could not start" if is_caught else ""
    return Verdict(mutant, is_caught, name, len(nearest), time.monotonic() - began_s)


def judge_all(mutants: list[Mutant], copies: list[Copy], tests: ImportGraph) -> list[Verdict]:
    free: Queue[Copy] = Queue()
    for copy in copies:
        free.put(copy)

    def judge(mutant: Mutant) -> Verdict:
        copy = free.get()
        try:
            verdict = judged(mutant, copy, tests)
        finally:
            free.put(copy)
        print(described(verdict), flush=True)
        return verdict

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(judge, mutants))


def described(verdict: Verdict) -> str:
    fate = f"caught by {verdict.failed}" if verdict.is_caught else "SURVIVED"
    cost = f"[{verdict.test_files} test files, {verdict.wall_s:.0f} s]"
    return f"{verdict.mutant}: {fate} {cost}\n{verdict.mutant.diff()}"


def explanation(mutant: Mutant) -> str:
    """The reviewer's sentence on this fault, or ""; faults are named by file, line and change."""
    source = (REPOSITORY / mutant.path).read_bytes()
    mutation = mutant.mutation
    line = source[source.rfind(b"\n", 0, mutation.begin) + 1 :].partition(b"\n")[0].decode()
    original = " ".join(source[mutation.begin : mutation.end].decode().split())
    change = f"{original} -> {mutation.replacement}"
    name = f"{mutant.path.as_posix()}: {line.strip()} : {change}"
    reviewed = REPOSITORY / "tools" / "mutation_survivors.txt"
    for known in reviewed.read_text(encoding="utf-8").splitlines():
        fault, _, reason = known.partition(" # ")
        if fault == name:
            return reason
    return ""


def require_sound(verdicts: list[Verdict], copy: Copy) -> None:
    """The tests that failed must pass without a fault; else exit status 2."""
    failed = sorted({it.failed for it in verdicts if "::" in it.failed})
    if failed and (result := copy.pytest(failed))[0] != PYTEST_OK:
        print(result[1])
        print("mutation_check: the tests above fail without a fault, too")
        sys.exit(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=COUNT, help="number of faults")
    parser.add_argument("--only", default="", help="part of the path of the files to change")
    parser.add_argument("--workers", type=int, default=1, help="faults at a time")
    given = parser.parse_args()
    mutants = drawn(given.seed, given.count, given.only)
    with tempfile.TemporaryDirectory(prefix="motet-mutants-") as folder:
        copies = [Copy(Path(folder).resolve() / str(n)) for n in range(given.workers)]
        copies[0].require_own_sources()
        verdicts = judge_all(mutants, copies, ImportGraph())
        require_sound(verdicts, copies[0])
    survivors = [it.mutant for it in verdicts if not it.is_caught]
    for mutant in survivors:
        print(f"survived: {mutant}  {explanation(mutant)}")
    print(f"seed {given.seed}: {len(mutants) - len(survivors)} of {len(mutants)} faults caught")
    sys.exit(len(survivors) > MOST_SURVIVORS * len(mutants))


if __name__ == "__main__":
    main()
