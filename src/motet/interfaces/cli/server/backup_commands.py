"""`motet server backup` and `motet server restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.live.connection import state_option
from motet.interfaces.cli.shell.server_extra import require_server_extra
from motet.interfaces.cli.shell.streams.visible import echo_note

_JOURNAL = "journal.db"


class _JournalFile(click.Path):
    """A file; the tools of a database server copy what is in one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses the address of a database server."""
        if "://" in str(value):
            kind = str(value).partition("://")[0]
            raise BadInput(
                f"--database {kind}://...: this command copies journals that are files; use the "
                "database's own tools, for PostgreSQL pg_dump and pg_restore"
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

    Logs, checkpoints and results are files of their own in the state folder.
    """
    require_server_extra()
    from motet.interfaces.server_address import default_server_folder
    from motet.live.upkeep.backup import back_up

    folder = state_folder or default_server_folder()
    count = back_up(database or folder / _JOURNAL, file)
    click.echo(f"{file}  {count:,} records, {file.stat().st_size:,} bytes")


@click.command("restore", short_help="Put a backup of the journal in force.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@_database_option
@state_option
def restore_command(file: Path, database: Path | None, state_folder: Path | None) -> None:
    """Put the journal of FILE in force; no server may run on the state folder.

    The journal before, and what jobs have left that the backup does not know, are moved into a
    folder before-restore-TIME. Users and tokens that were revoked after the backup stay revoked.
    """
    require_server_extra()
    from motet.interfaces.server.state_folder import locked_state_folder, open_state_folder
    from motet.interfaces.server_address import default_server_folder
    from motet.live.upkeep.restore import restore

    folder = (state_folder or default_server_folder()).absolute()
    open_state_folder(folder)
    with locked_state_folder(folder):
        restored = restore(file, folder, database and database.absolute())
    jobs = "1 job" if restored.jobs == 1 else f"{restored.jobs:,} jobs"
    click.echo(f"restored {jobs}; what was there before is in {restored.aside}")
    if restored.revoked is None:
        echo_note(
            "warning: the journal before cannot be read: users and tokens that were revoked after "
            "the backup are valid again; see `motet user list` and `motet token list`"
        )
