"""Job files: what a user submits, checked, with defaults. Unknown keys are errors."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from motet.domain.errors import BadInput, nearest_name

MOST_PROCESSES = 100_000
_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
_SIGNALS = {"SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP"}
_LONGEST_PLACE = 80


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PreemptOptions(_Section):
    """How the processes are asked to stop before they are killed."""

    signal: str = "SIGTERM"
    grace_s: Annotated[float, Field(ge=0, le=86_400)] = 30.0

    @field_validator("signal")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in _SIGNALS:
            raise ValueError(f"one of {', '.join(sorted(_SIGNALS))}")
        return value

    @property
    def number(self) -> int:
        """The signal."""
        return signal.Signals[self.signal].value


class Retry(_Section):
    """`max_attempts`: how often the command may fail before the job fails. Preemptions and lost
    processes do not count."""

    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 1


class JobSpec(_Section):
    """A job: a command that runs as a gang of processes.

    `run`: a shell script, or a list of words. `processes`: all of them run, or none; each takes one
    slot. `workdir`: where the command starts. `envs`: variables of its environment.
    """

    name: Annotated[str, Field(pattern=_NAME)]
    run: str | tuple[str, ...]
    processes: Annotated[int, Field(ge=1, le=MOST_PROCESSES)] = 1
    queue: Annotated[str, Field(pattern=_NAME)] = "default"
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    workdir: str
    envs: dict[str, str] = Field(default_factory=dict)
    preempt: PreemptOptions = PreemptOptions()
    retry: Retry = Retry()

    @field_validator("run")
    @classmethod
    def _has_command(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not value or not "".join(value).strip():
            raise ValueError("the command is empty")
        return _for_process(value) if isinstance(value, str) else tuple(map(_for_process, value))

    @field_validator("workdir")
    @classmethod
    def _is_absolute(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError("an absolute path")
        return _for_process(value)

    @field_validator("envs")
    @classmethod
    def _are_variables(cls, value: dict[str, str]) -> dict[str, str]:
        if any(not name or "=" in name for name in value):
            raise ValueError("the name of a variable is not empty and has no '='")
        return {_for_process(name): _for_process(text) for name, text in value.items()}

    @property
    def argv(self) -> tuple[str, ...]:
        """The command of every process."""
        return ("/bin/sh", "-c", self.run) if isinstance(self.run, str) else self.run


def _for_process(text: str) -> str:
    """The kernel takes arguments, variables and paths as bytes without NUL. Raises ValueError."""
    if "\0" in text:
        raise ValueError("a NUL character cannot be given to a process")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair cannot be given to a process") from None
    return text


def job_spec(values: Mapping[str, Any], source: str = "job") -> JobSpec:
    """Check the values of a job file. Raises BadInput that names `source`, key and remedy."""
    try:
        return JobSpec.model_validate(values)
    except ValidationError as error:
        raise BadInput(f"{source}: {_told(error)}") from error


def _told(error: ValidationError) -> str:
    """The first problem in one line; a misspelt key explains one that is missing."""
    problems = error.errors(include_url=False)
    problem = min(problems, key=lambda each: each["type"] != "extra_forbidden")
    place = ".".join(str(part) for part in problem["loc"] if part not in ("str", "tuple[str, ...]"))
    hint = _hint(problem["loc"]) if problem["type"] == "extra_forbidden" else ""
    if len(place) > _LONGEST_PLACE:
        place = f"{place[:_LONGEST_PLACE]}..."
    if hint:
        return f"unknown key {place}{hint}"
    if problem["type"] == "missing":
        return f"{place} is missing"
    return f"{place}: {problem['msg'].removeprefix('Value error, ')}"


def _hint(loc: Sequence[Any]) -> str:
    *sections, key = map(str, loc)
    model: type[BaseModel] = JobSpec
    for name in sections:
        model = model.model_fields[name].annotation  # type: ignore[assignment]
    known = sorted(model.model_fields)
    near = nearest_name(key, known)
    return (f"; did you mean {near}?" if near else ";") + f" known: {', '.join(known)}"
