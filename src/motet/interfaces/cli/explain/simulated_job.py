"""The page that `motet explain` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.domain.units import HOUR_US, duration_words, exact_seconds
from motet.insight.folding import Slices, folded
from motet.insight.holders.meanwhile import Meanwhile
from motet.insight.job_story import JobStory
from motet.insight.sentences import account, reason_title
from motet.insight.story import Chapter, Kind, Story
from motet.insight.wording import job_name
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import count_text

Entry: TypeAlias = Chapter | Slices
STRIP_WIDTH = 72
MOST_ROWS = 40
_STYLES: dict[Kind, str] = {"run": job_colour(0), "wait": job_colour(1), "moment": QUIET_STYLE}
_MARKS: dict[Kind, str] = {"run": "━", "wait": "╌", "moment": " "}
_WORDS: dict[Kind, str] = {"run": "ran", "wait": "waited", "moment": ""}


def story_page(
    explained: JobStory, *, is_whole: bool, more: str = "see --all or --json"
) -> RenderableType:
    """Heading, facts, time line, chapters and totals.

    `is_whole`: show all rows; otherwise `more` tells where those that are left out can be found.
    """
    story = explained.story
    parts: list[RenderableType] = [_heading(explained), _facts(explained)]
    if story.jct_us:
        parts += [Padding(_strip(story), (1, 0, 0, 0))]
    parts += [Padding(_chapters(explained, more, is_whole=is_whole), (1, 0)), _totals(explained)]
    return Group(*parts)


def _heading(explained: JobStory) -> Text:
    record, jct_us = explained.story.record, explained.story.jct_us
    ended = "did not finish" if jct_us is None else f"finished after {duration_words(jct_us)}"
    heading = Text(f"{job_name(record.job)} under {explained.policy}", style="bold")
    return heading.append(f": {count_text(record.gpus, 'GPU')}, {ended}", style="not bold")


def _facts(explained: JobStory) -> Text:
    """Submission, end, user and queue; times on the trace's own clock, with dates if it has any."""
    record = explained.story.record
    parts = [f"submitted at {_clock(explained, record.submit_us)}"]
    if record.end_us is not None:
        parts.append(f"ended at {_clock(explained, record.end_us)}")
    parts += [f"user {record.user}"] if record.user else []
    parts += [f"queue {record.queue}"] if record.queue else []
    return Text(", ".join(parts), style=QUIET_STYLE)


def _clock(explained: JobStory, time_us: int) -> str:
    """`800 s`, or `2026-03-02 08:13:20 UTC (800 s)`."""
    date = explained.moment(time_us)
    if date is None:
        return f"{exact_seconds(time_us)} s"
    zone = date.isoformat()[-6:] if date.utcoffset() else "UTC"
    return f"{date:%Y-%m-%d %H:%M:%S} {zone} ({exact_seconds(time_us)} s)"


def _strip(story: Story) -> Text:
    """The whole time of the job in one line; a cell shows the chapter at its middle."""
    record, jct_us = story.record, story.jct_us or 1
    intervals = [chapter for chapter in story.chapters if chapter.kind != "moment"]
    strip, place = Text(), 0
    for cell in range(STRIP_WIDTH):
        middle_us = record.submit_us + jct_us * (2 * cell + 1) // (2 * STRIP_WIDTH)
        while (intervals[place].to_us or middle_us + 1) <= middle_us:
            place += 1
        kind = intervals[place].kind
        strip.append(_MARKS[kind], style=_STYLES[kind])
    return strip


def _chapters(explained: JobStory, more: str, *, is_whole: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style=QUIET_STYLE, padding=(0, 2, 0, 0))
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("for", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    entries = list(explained.story.chapters) if is_whole else folded(explained.story.chapters)
    for entry in _shown(entries, is_whole=is_whole):
        if entry is None:
            left_out = len(entries) - MOST_ROWS
            table.add_row("...", "", "", f"{left_out:,} more rows, {more}")
        elif isinstance(entry, Slices):
            table.add_row(*_slices_row(explained, entry))
        else:
            table.add_row(*_row(explained, entry))
    return table


def _shown(entries: Sequence[Entry], *, is_whole: bool) -> list[Entry | None]:
    """The entries; of a long story the first and last ones, with None between them."""
    if is_whole or len(entries) <= MOST_ROWS:
        return list(entries)
    half = MOST_ROWS // 2
    return [*entries[:half], None, *entries[-half:]]


def _slices_row(explained: JobStory, slices: Slices) -> tuple[str, Text, str, Text]:
    since_us = slices.from_us - explained.story.record.submit_us
    lasted = duration_words(slices.duration_us)
    return duration_words(since_us), Text("slices", _STYLES["run"]), lasted, Text(slices.sentence())


def _row(explained: JobStory, chapter: Chapter) -> tuple[str, Text, str, Text]:
    since_us = chapter.from_us - explained.story.record.submit_us
    duration_us = chapter.duration_us
    lasted = "?" if duration_us is None else duration_words(duration_us)
    style = _STYLES[chapter.kind]
    text = account(chapter.because, explained.rules.at(chapter.from_us))
    is_moment = chapter.kind == "moment"
    return (
        duration_words(since_us),
        Text(_WORDS[chapter.kind], style=style),
        "" if is_moment else lasted,
        Text(text, style=style if is_moment else ""),
    )


def _totals(explained: JobStory) -> Table:
    story = explained.story
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style=QUIET_STYLE)
    table.add_column(overflow="fold")
    waits = story.waiting_us
    causes = [
        f"{duration_words(time_us)} {reason_title(reason)}" for reason, time_us in waits.items()
    ]
    if len(waits) == 1:  # Its time is the sum.
        causes = [reason_title(reason) for reason in waits]
    table.add_row("waited", _sum(sum(waits.values()), causes))
    overhead = f"{duration_words(story.overhead_us)} of it checkpoints and restores"
    table.add_row("ran", _sum(story.running_us, [overhead] if story.overhead_us else []))
    if explained.meanwhile.jobs:
        table.add_row("meanwhile", _meanwhile(explained.meanwhile))
    if counts := _counts(story):
        table.add_row("was", counts)
    return table


def _meanwhile(meanwhile: Meanwhile) -> str:
    """The jobs that held the GPUs while the job waited."""
    named = [f"{job_name(job)} ({gpu_us / HOUR_US:,.3g})" for job, gpu_us in meanwhile.most]
    more = meanwhile.jobs - len(named)
    rest = f" and {more:,} more" if more else ""
    later = f"{meanwhile.later:,}" if meanwhile.later else "none"
    return f"GPU-hours held by {', '.join(named)}{rest}; {later} of them submitted after it"


def _sum(total_us: int, parts: Sequence[str]) -> str:
    return duration_words(total_us) + (f": {', '.join(parts)}" if parts else "")


def _counts(story: Story) -> str:
    again = sum(each.because.stays for each in story.chapters)
    counts = {
        "preempted": story.count("preempt"),
        "moved": story.count("migrate") - again,
        "started again": again,
        "resized": story.count("resize"),
        "demoted": story.count("demote"),
        "promoted": story.count("promote"),
    }
    return ", ".join(f"{word} {_often(n)}" for word, n in counts.items() if n)


def _often(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")
