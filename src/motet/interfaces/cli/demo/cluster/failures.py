"""Jobs of `motet demo` that have not succeeded: their logs outlive the server's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from motet.domain.errors import JobFailed
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.log_reading import ProcessLog
from motet.report.rendering.folder import Folder
from motet.report.rendering.quantities import count_text


def keep_logs_of_failures(
    client: LiveClient, pages: Sequence[Mapping[str, Any]], out: Folder
) -> JobFailed | None:
    """Copy the log of the process that failed first, of each job without success, into `out`.

    `pages`: of the API, of all jobs. Returns the error of the demo; None: all have succeeded.
    Raises what LiveClient raises, and JobFailed if a file cannot be written.
    """
    failed = [page for page in pages if page["state"] != "SUCCEEDED"]
    if not failed:
        return None
    told = []
    for page in failed:
        name = f"{page['name']}.log"
        out.write_text(name, _log(client, page))
        told.append(f"{page['name']}: {page['reason'] or page['state']} ({out.path / name})")
    return JobFailed(f"{count_text(len(failed), 'job')} of the demo failed; " + "; ".join(told))


def _log(client: LiveClient, page: Mapping[str, Any]) -> str:
    """Of the last attempt; empty if there was none."""
    if not page["attempt_list"]:
        return ""
    rank = page["attempt_list"][-1]["failed_rank"] or 0
    chunks = ProcessLog(client, page["id"], rank).until_now()
    return b"".join(chunk.data for chunk in chunks).decode(errors="backslashreplace")
