"""Maps the outcome of a command to an exit code and, for errors, one line on stderr."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO

import click

from motet.domain.errors import ExitCode, MotetError, remedy_of_write
from motet.interfaces.cli.shell.streams.standard_streams import FULL, is_stdout_closed
from motet.interfaces.cli.shell.streams.visible import echo_note, visible_text

LONGEST_MESSAGE, _OMITTED = 499, " ... "


def exit_code_of(command: Callable[[], object]) -> int:
    """Run `command`; an exception becomes a line on stderr and an exit code."""
    stdout = sys.stdout
    try:
        outcome = command()
        sys.stdout.flush()
    except click.ClickException as error:
        return _report(_usage_message(error), ExitCode.BAD_INPUT)
    except click.Abort:
        return ExitCode.INTERRUPTED
    except MotetError as error:
        return _report(str(error), error.exit_code)
    except MemoryError as error:
        return _report(_memory_message(error), ExitCode.BAD_INPUT)
    except BrokenPipeError:
        return _leave_closed_pipe()
    except SystemExit as ended:
        if sys.stdout is not stdout:  # click replaces it after a BrokenPipeError and exits with 1
            return _leave_closed_pipe()
        return ended.code if isinstance(ended.code, int) else 0
    except Exception as error:
        return _report(_failure_message(error), ExitCode.FAILED)
    return outcome if isinstance(outcome, int) else 0


def _report(message: str, code: int) -> int:
    line = " ".join(message.split())
    echo_note(_shortened(f"motet: error: {visible_text(line)}"))
    return code


def _shortened(message: str) -> str:
    """The message without its middle if it is long."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    kept = (LONGEST_MESSAGE - len(_OMITTED)) // 2
    return f"{message[:kept]}{_OMITTED}{message[-kept:]}"


def _usage_message(error: click.ClickException) -> str:
    message = _without_ending(error)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message}{'' if message[-1] == '?' else ';'} see '{error.ctx.command_path} --help'"
    return message


def _without_ending(error: click.ClickException) -> str:
    """The message as a clause, with similar names after a semicolon instead of in brackets."""
    if isinstance(error, click.NoSuchOption):
        near = _option_for(error) or _near_option(error.option_name, error.possibilities or ())
        remedy = f"; did you mean {near}?" if near else _argument_for(error)
        return f"no such option {error.option_name}{remedy}"
    message = error.format_message().rstrip(".")
    return message[:1].lower() + message[1:]


_OPTIONS_ELSEWHERE = {"gpus": "--processes", "nodes": "--processes", "ntasks": "--processes"}
"""Options of other systems, and those for the same here."""


def _option_for(error: click.NoSuchOption) -> str | None:
    """What another system's option is called here, if the command has it."""
    same = _OPTIONS_ELSEWHERE.get(error.option_name.lstrip("-"))
    params = error.ctx.command.params if error.ctx is not None else ()
    return same if any(same in each.opts for each in params) else None


_NAMES_OF_ARGUMENTS = {"trace": ("file", "source"), "job": ("job",), "app": ("app",)}
"""Options, and arguments for the same."""


def _argument_for(error: click.NoSuchOption) -> str:
    """What to do with an option that other commands have for what this one has as an argument."""
    if error.ctx is None:
        return ""
    names = _NAMES_OF_ARGUMENTS.get(error.option_name.lstrip("-"), ())
    for each in error.ctx.command.params:
        if isinstance(each, click.Argument) and each.name in names:
            return f"; give {each.make_metavar(error.ctx).strip('[]')} without an option"
    return ""


def _near_option(name: str, known: Sequence[str]) -> str | None:
    """The most similar option. Leading dashes, which all options share, are not compared."""
    letters = {option.lstrip("-"): option for option in known}
    near = get_close_matches(name.lstrip("-"), letters, n=1)
    return letters[near[0]] if near else None


def _memory_message(error: MemoryError) -> str:
    reason = str(error).rstrip(".") or "out of memory"
    return f"not enough memory ({reason}); use a smaller model or smaller data"


def _failure_message(error: Exception) -> str:
    if isinstance(error, OSError) and (error.errno in FULL or _is_of_closed_stdout(error)):
        return _full_message(error)
    return _unexpected_message(error)


def _is_of_closed_stdout(error: OSError) -> bool:
    return error.errno == errno.EBADF and not error.filename and is_stdout_closed()


def _full_message(error: OSError) -> str:
    """Errors without a file name come from standard output."""
    if error.filename:
        remedy = remedy_of_write(error)
        return f"{error.filename}: cannot be written ({error.strerror}); {remedy}"
    _silence(sys.stdout)
    return f"cannot write to standard output ({error.strerror}); the result is not complete"


def _unexpected_message(error: Exception) -> str:
    path = _save_traceback(error)
    return f"unexpected {type(error).__name__}: {error}; the details are in {path}"


def _save_traceback(error: Exception) -> Path:
    """Write a file into the user's log folder, or into /var/tmp if that is not writable."""
    text = "".join(traceback.format_exception(error))
    for folder in (_log_folder, _temporary_folder):
        try:
            handle, name = tempfile.mkstemp(prefix="motet-error-", suffix=".log", dir=folder())
        except OSError:
            continue
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return Path(name)
    return Path(os.devnull)


def _log_folder() -> Path:
    from platformdirs import user_log_path

    return user_log_path("motet", appauthor=False, ensure_exists=True)


def _temporary_folder() -> Path:
    """Not TMPDIR: the scratch folder of a command is removed at its end."""
    return Path("/var/tmp")


def _leave_closed_pipe() -> int:
    """`motet ... | head`: exit without a message, also when the interpreter flushes at exit."""
    _silence(sys.stdout)
    _silence(sys.stderr)
    return ExitCode.CLOSED_PIPE


def _silence(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
