"""Batch scripts of Slurm as job files: a strict subset of `#SBATCH`. Pure.

Directives are those of sbatch(1) of Slurm 25.11. What has no meaning here is an error, not ignored.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from motet.domain.errors import BadInput, nearest_name

LARGEST_SCRIPT_BYTES = 100_000
"""The kernel takes 128 KiB in one argument of a command."""
_MARK = "#SBATCH"
_INTERPRETERS = {"sh", "bash", "dash", "zsh", "python", "python3"}
_SHORT = {
    "-J": "--job-name",
    "-n": "--ntasks",
    "-N": "--nodes",
    "-p": "--partition",
    "-t": "--time",
    "-a": "--array",
    "-d": "--dependency",
    "-D": "--chdir",
    "-c": "--cpus-per-task",
}
_IN_JOB_FILES: Mapping[str, str] = {
    "--mem": "a job file has memory, of each process: motet submit --memory 4GB -f JOB.sbatch",
    "--mem-per-cpu": "a job file has memory, of each process: motet submit --memory 4GB",
    "--gres": "a slot of a machine with GPUs is a GPU: give --ntasks",
    "--gpus": "a slot of a machine with GPUs is a GPU: give --ntasks",
}
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_SRUN = re.compile(r"\s*srun\b")


def sbatch_values(text: str, source: str) -> dict[str, Any]:
    """The values of a job file. Raises BadInput that names `source`, and lines and remedies of all
    directives that are wrong."""
    lines = text.split("\n")
    given: dict[str, str] = {}
    problems: list[tuple[int, str]] = []
    for number, option, value in _directives(lines, source):
        if problem := _problem(option, value, given):
            problems.append((number, problem))
        elif value is not None:
            given[option] = value
    if problems:
        raise BadInput(_refusal(problems, source))
    _refuse_srun(lines, source)
    values: dict[str, Any] = {"run": _command(text, lines[0], source), "envs": _variables(given)}
    for option, value in given.items():
        values |= _KEYS[option](value)
    values["processes"] = _processes(given, source)
    return values


def _directives(lines: list[str], source: str) -> Iterator[tuple[int, str, str | None]]:
    """Line, long option and value (None: it has none). Slurm ignores directives after the first
    command."""
    has_begun = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(_MARK) and line[len(_MARK) :][:1].isspace():
            if has_begun:
                raise BadInput(
                    f"{source}, line {number}: #SBATCH after a command; put it before the first one"
                )
            yield from _options(line.removeprefix(_MARK), f"{source}, line {number}", number)
        elif line.strip() and not line.startswith("#"):
            has_begun = True


def _options(text: str, where: str, number: int) -> Iterator[tuple[int, str, str | None]]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        raise BadInput(f"{where}: {error}") from None
    while words:
        word = words.pop(0)
        option, has_value, value = word.partition("=")
        if not word.startswith("--") and len(word) > len("-n"):
            option, has_value, value = word[:2], "=", word[2:].removeprefix("=")
        option = _SHORT.get(option, option)
        if has_value:
            yield number, option, value
        elif words and not words[0].startswith("-"):
            yield number, option, words.pop(0)
        else:
            yield number, option, None


def _problem(option: str, value: str | None, given: Mapping[str, str]) -> str:
    """Why a directive is refused; empty: it is not. `given`: those before it."""
    if option not in _KEYS:
        return _unsupported(option)
    if value is None:
        return f"{option} needs a value"
    if option in given:
        return f"{option} is given twice"
    try:
        _KEYS[option](value)
    except ValueError as error:
        return f"{option}={value[:40]}: {error}"
    return ""


def _unsupported(option: str) -> str:
    if option in ("--output", "--error", "-o", "-e"):
        return f"{option}: leave it out; 'motet logs' shows what every process writes"
    if option in _IN_JOB_FILES:
        return f"{option} is not supported; {_IN_JOB_FILES[option]}"
    near = nearest_name(option, _KEYS)
    return f"{option[:40]} is not supported" + (f"; did you mean {near}?" if near else "")


def _refusal(problems: list[tuple[int, str]], source: str) -> str:
    """All of them, and what would be accepted."""
    known = f"known: {', '.join(_KEYS)}"
    if len(problems) == 1:
        ((number, problem),) = problems
        link = " " if problem.endswith("?") else "; "
        more = f"{link}{known}" if "is not supported" in problem else ""
        return f"{source}, line {number}: {problem}{more}"
    lines = "; ".join(f"line {number}: {problem}" for number, problem in problems)
    return f"{source}: {len(problems)} directives are refused; {lines}; {known}"


def _refuse_srun(lines: list[str], source: str) -> None:
    for number, line in enumerate(lines, start=1):
        if _SRUN.match(line):
            raise BadInput(
                f"{source}, line {number}: leave 'srun' out; every process of the job runs the "
                "script, with the variables RANK and WORLD_SIZE"
            )


def _command(text: str, first: str, source: str) -> list[str]:
    """The interpreter with the script as an argument: no machine needs the file."""
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    name = words[-1].rpartition("/")[2] if words else ""
    if name not in _INTERPRETERS:
        raise BadInput(
            f"{source}, line 1: begin with an interpreter, as '#!/bin/bash'; known: "
            f"{', '.join(sorted(_INTERPRETERS))}"
        )
    if len(text.encode()) > LARGEST_SCRIPT_BYTES:
        raise BadInput(f"{source}: larger than {LARGEST_SCRIPT_BYTES:,} bytes; call a file in it")
    return [*words, "-c", text]


def _variables(given: Mapping[str, str]) -> dict[str, str]:
    return {"SLURM_ARRAY_TASK_ID": "{{index}}"} if "--array" in given else {}


def _processes(given: Mapping[str, str], source: str) -> int:
    per_node = int(given.get("--ntasks-per-node", "1"))
    nodes = int(given.get("--nodes", "1"))
    tasks = int(given.get("--ntasks", nodes * per_node))
    if "--ntasks-per-node" in given and tasks != nodes * per_node:
        raise BadInput(
            f"{source}: --ntasks={tasks} is not --nodes={nodes} times --ntasks-per-node={per_node}"
        )
    return tasks


# -- values ----------------------------------------------------------------------------------------


def _count(text: str) -> dict[str, Any]:
    if not re.fullmatch("[1-9][0-9]{0,5}", text):
        raise ValueError("a number, 1 or more")
    return {}


def _cpus(text: str) -> dict[str, Any]:
    _count(text)
    return {"cpus": int(text)}


def _text(key: str) -> Callable[[str], dict[str, Any]]:
    return lambda text: {key: text}


def _duration(text: str) -> dict[str, Any]:
    """The limit, which is also what policies and predictions expect.

    Forms: MIN, MIN:SEC, HOURS:MIN:SEC, DAYS-HOURS, DAYS-HOURS:MIN, DAYS-HOURS:MIN:SEC.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("write MINUTES, HOURS:MINUTES:SECONDS or DAYS-HOURS")
    days, *parts = (None if each is None else int(each) for each in match.groups())
    numbers = [each for each in parts if each is not None]
    if days is not None:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == len(parts):
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    total_s = (((days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if not total_s:
        raise ValueError("a time above 0")
    return {"duration_s": total_s, "max_duration": total_s}


def _dependency(text: str) -> dict[str, Any]:
    kind, *jobs = text.split(":")
    if kind != "afterok" or not jobs or not all(each.isdecimal() for each in jobs):
        raise ValueError("only afterok:JOB[:JOB...] is supported")
    return {"after": [int(each) for each in jobs]}


def _signal(text: str) -> dict[str, Any]:
    match = re.fullmatch(r"(?:B:)?(?:SIG)?([A-Z0-9]+)(?:@(\d{1,5}))?", text)
    if match is None:
        raise ValueError("write NAME@SECONDS, as USR1@60")
    return {"preempt": {"signal": f"SIG{match[1]}", "grace_s": int(match[2] or 60)}}


_KEYS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "--job-name": _text("name"),
    "--ntasks": _count,
    "--nodes": _count,
    "--ntasks-per-node": _count,
    "--partition": _text("queue"),
    "--time": _duration,
    "--array": _text("array"),
    "--dependency": _dependency,
    "--chdir": _text("workdir"),
    "--cpus-per-task": _cpus,
    "--signal": _signal,
}
