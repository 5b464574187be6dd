"""`motet.explain`: the history of one job of a simulation, and the reasons for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Console

from motet.domain.errors import BadInput, NotFound
from motet.insight.job_story import JobStory
from motet.interfaces.cli.explain.simulated_job import story_page
from motet.interfaces.python_messages import python_arguments
from motet.interfaces.simulations.runs import SimulatedRuns, write_only_run
from motet.report.rendering.html import html_page, html_table
from motet.report.rendering.quantities import quantity
from motet.report.simulation.job_story import read_job_story
from motet.report.simulation.story_document import story_document

if TYPE_CHECKING:
    from pandas import DataFrame

_WIDTH = 100
_COLUMNS = ("kind", "from", "to", "duration_s", "event", "sentence")


class Explanation:
    """When and where a job ran, why and for which jobs it waited; printing it shows the whole."""

    def __init__(self, story: JobStory) -> None:
        self._story = story

    @cached_property
    def document(self) -> dict[str, Any]:
        """The fields of `motet explain --json`."""
        return story_document(self._story)

    @property
    def chapters(self) -> DataFrame:
        """A row per wait, run and event: kind, from and to (seconds), duration_s, sentence."""
        import pandas as pd

        return pd.DataFrame(self.document["chapters"], columns=list(_COLUMNS))

    @property
    def totals(self) -> dict[str, Any]:
        """Seconds of waiting by reason, of running and of overhead; numbers of events."""
        return dict(self.document["totals"])

    def __str__(self) -> str:
        console = Console(width=_WIDTH, no_color=True, highlight=False, force_terminal=False)
        with console.capture() as captured:
            console.print(story_page(self._story, is_whole=False, more="see .chapters"))
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The chapters as a table, for notebooks."""
        document = self.document
        rows = [
            [each["sentence"], *(_time(each, name) for name in ("from", "to", "duration_s"))]
            for each in document["chapters"]
        ]
        heading = str(self).splitlines()[0]
        return html_page(heading, html_table(["", "from", "to", "seconds"], rows))


@python_arguments
def explain(result: SimulatedRuns | str | os.PathLike[str], job: str | int) -> Explanation:
    """Explain one job: when and where it ran, why and for which jobs it waited.

    `result`: a result of `simulate` with one run, such as `result["fifo"]`, which is simulated once
    more to record its decisions; or a folder that `motet simulate --log-decisions --out DIR` wrote.
    `job`: its id in the trace. Raises BadInput, NotFound.

    >>> print(motet.explain(result["tiresias-las"], 17))
    """
    if isinstance(job, bool) or not isinstance(job, str | int):
        raise BadInput(f"job={job!r:.60}: give the id of a job, a text or a number")
    if isinstance(result, SimulatedRuns):
        return Explanation(_simulated_story(result, str(job)))
    if isinstance(result, str | os.PathLike):
        return Explanation(read_job_story(Path(result), str(job)))
    raise BadInput(
        f"result={result!r:.60}: give a result of simulate, or a folder of 'motet simulate "
        "--log-decisions --out DIR'"
    )


def _simulated_story(result: SimulatedRuns, job: str) -> JobStory:
    with TemporaryDirectory(prefix="motet-explain-") as folder:
        label = write_only_run(result, Path(folder))
        try:
            return read_job_story(Path(folder), job)
        except NotFound as error:
            raise NotFound(str(error).replace(folder, label)) from None


def _time(chapter: Mapping[str, Any], name: str) -> str:
    """A time of a chapter; empty if unknown, or if the chapter has no duration."""
    is_moment = chapter["kind"] == "moment" and name != "from"
    return "" if is_moment or chapter[name] is None else quantity(chapter[name])
