"""`motet server backup` and `motet server restore`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from motet.domain.errors import BadInput, JobFailed
from motet.interfaces.cli.live.connection import state_option
from motet.interfaces.cli.shell.server_extra import require_server_extra
from motet.interfaces.cli.shell.streams.terminal_output import is_stdout
from motet.interfaces.cli.shell.streams.visible import echo_note

_JOURNAL = "journal.db"


class _JournalAddress(click.Path):
    """A file, or the URL of a database."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Leaves URLs as they are."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


class _JournalFile(click.Path):
    """A file; the tools of a database server copy what is in one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses the address of a database server."""
        if "://" in str(value):
            kind = str(value).partition("://")[0]
            raise BadInput(
                f"--database {kind}://...: this command copies journals that are files; use the "
                "database's own tools, for PostgreSQL pg_dump"
            )
        return super().convert(value, param, ctx)


_database_option = click.option(
    "--database",
    type=_JournalFile(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The journal, if the server has it in this file. Default: that in --state-dir.",
)


@click.command("backup", short_help="Copy the journal while the server runs.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@_database_option
@state_option
def backup_command(file: Path, database: Path | None, state_folder: Path | None) -> None:
    """Copy the journal, with users and the audit log, into the new FILE; the server may run.
    FILE - is stdout.

    Logs, checkpoints and results are files of their own in the state folder.
    """
    require_server_extra()
    from motet.interfaces.server_address import default_server_folder
    from motet.live.upkeep.backup import back_up

    folder = state_folder or default_server_folder()
    journal = database or folder / _JOURNAL
    if is_stdout(file):
        _print_backup(journal)
        return
    count = back_up(journal, file)
    click.echo(f"{file}  {count:,} records, {file.stat().st_size:,} bytes")


def _print_backup(journal: Path) -> None:
    """Write the backup to stdout: SQLite makes it in a file, which has to be whole before."""
    from motet.live.upkeep.backup import back_up
    from motet.report.rendering.quantities import count_text

    if sys.stdout.isatty():
        raise BadInput("FILE -: a backup is binary; pipe it into another program, or name a file")
    with TemporaryDirectory(prefix="motet-backup-") as folder:
        copy = Path(folder) / _JOURNAL
        try:
            count = back_up(journal, copy)
        except JobFailed as error:
            raise JobFailed(f"{error}, or name another folder in TMPDIR") from error
        with copy.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()  # An error of the reader comes before the note, not after it.
        records = count_text(count, "record")
        echo_note(f"{records}, {copy.stat().st_size:,} bytes written to stdout")


@click.command("restore", short_help="Put a backup of the journal in force.")
@click.argument(
    "file",
    metavar="[FILE]",
    required=False,
    type=click.Path(dir_okay=False, path_type=Path),
)
@click.option(
    "--database",
    type=_JournalAddress(dir_okay=False),
    metavar="URL",
    help="The journal, if the server has it elsewhere: the path of a file, or a URL of "
    "PostgreSQL. Default: that in --state-dir.",
)
@state_option
def restore_command(file: Path | None, database: str | None, state_folder: Path | None) -> None:
    """Put the journal of FILE in force; no server may run on the state folder.

    Without FILE, the journal that other tools have put in its place, as pg_restore does.

    The journal before, and what jobs have left that the backup does not know, are moved into a
    folder before-restore-TIME. Users and tokens that were revoked after the backup stay revoked,
    if the journal before is a file.
    """
    require_server_extra()
    from motet.interfaces.server.state_folder import locked_state_folder, open_state_folder
    from motet.interfaces.server_address import default_server_folder
    from motet.live.upkeep.restore import adopt, restore

    if file is not None and database is not None and "://" in database:
        kind = database.partition("://")[0]
        raise BadInput(
            f"--database {kind}://...: pg_restore puts a FILE of pg_dump into it; then repeat this "
            "without FILE"
        )
    folder = (state_folder or default_server_folder()).absolute()
    open_state_folder(folder)
    with locked_state_folder(folder):
        if file is None:
            restored = adopt(database or str(folder / _JOURNAL), folder)
        else:
            journal = None if database is None else Path(database).absolute()
            restored = restore(file, folder, journal)
    jobs = "1 job" if restored.jobs == 1 else f"{restored.jobs:,} jobs"
    aside = f"what was there before is in {restored.aside}" if restored.aside else "no job is later"
    click.echo(f"restored {jobs}; {aside}")
    if restored.revoked is None:
        echo_note(
            "warning: the journal before cannot be read: users and tokens that were revoked after "
            "the backup are valid again; see `motet user list` and `motet token list`"
        )
