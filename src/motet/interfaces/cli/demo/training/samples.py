"""Samples of the trained models of the demo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.demo.training.preparation import PreparedJob
from motet.report.rendering.palette import QUIET_STYLE

SHADES = " ░▒▓█"
DIGIT_SIDE = 8
STEM_LETTERS = 5
SHOWN_DIGITS, SHOWN_WORDS, SHOWN_TOPICS, SHOWN_FEATURES = 2, 4, 4, 4
FEATURE_NAMES = {
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL cholesterol",
    "s3": "HDL cholesterol",
    "s4": "cholesterol ratio",
    "s5": "triglycerides",
    "s6": "blood sugar",
}


def sample_panel(done: PreparedJob, colour: str) -> Panel:
    """A panel with samples of the model of a job."""
    title, content = _SAMPLES[done.job.app](done, colour)
    heading = Text.assemble((f" {done.job.app} ", f"bold {colour}"), (f"{title} ", "default"))
    return Panel(content, title=heading, title_align="left", border_style=colour, padding=(0, 1))


def picture(pixels: NDArray[Any], colour: str) -> Text:
    """Brightness 0..1, `(rows, columns)`, as shaded characters, two to a pixel."""
    levels = np.clip(pixels * len(SHADES), 0, len(SHADES) - 1).astype(int)
    return Text("\n".join("".join(SHADES[i] * 2 for i in line) for line in levels), style=colour)


Sample = tuple[str, RenderableType]


def _digits_read(done: PreparedJob, colour: str) -> Sample:
    """The first held-out images of different digits, with the predictions of the classifier."""
    test: Any = done.test
    app: Any = done.app
    chosen = np.sort(np.unique(test.target, return_index=True)[1])[:SHOWN_DIGITS]
    probabilities = app.predict_proba(test.features[chosen])
    columns = []
    for image, shares in zip(test.features[chosen], probabilities, strict=True):
        best = int(shares.argmax())
        caption = f"{app.classes_[best]:.0f}, {shares[best]:.0%} sure"
        columns.append((_digit(image, colour), caption))
    return "reads digits it never saw", _side_by_side(columns)


def _digit_rebuilt(done: PreparedJob, colour: str) -> Sample:
    """An image, and its reconstruction from the factors."""
    app: Any = done.app
    dataset: Any = done.dataset
    position = DIGIT_SIDE
    original = dataset.values.reshape(dataset.shape)[position]
    rebuilt = app.user_factors_[position] @ app.components_
    columns = [
        (_digit(original, colour), f"{len(original)} pixels"),
        (_digit(rebuilt, colour), f"from {len(app.components_)} parts"),
    ]
    return "rebuilds images from parts", _side_by_side(columns)


def _strongest_features(done: PreparedJob, colour: str) -> Sample:
    app: Any = done.app
    dataset: Any = done.dataset
    strengths = app.coef_ * dataset.features.std(axis=0)
    table = Table.grid(padding=(0, 1))
    for position in np.argsort(-np.abs(strengths))[:SHOWN_FEATURES]:
        name = dataset.feature_names[position]
        share = abs(strengths[position]) / np.abs(strengths).max()
        effect = "raises" if strengths[position] > 0 else "lowers"
        bar = Text("━" * max(1, round(12 * share)), style=colour)
        table.add_row(FEATURE_NAMES.get(name, name), Text(effect, style=QUIET_STYLE), bar)
    return "keeps what matters", table


def _topics(done: PreparedJob, colour: str) -> Sample:
    """The most specific words of the largest topics."""
    app: Any = done.app
    corpus: Any = done.dataset
    counts = np.asarray(app.components_, dtype=np.float64)
    shares = counts / counts.sum(axis=0, keepdims=True)
    frequent = counts * shares
    order = np.argsort(-frequent.sum(axis=1))[:SHOWN_TOPICS]
    lines = []
    for topic in order:
        words = _unlike([corpus.vocabulary[word] for word in np.argsort(-frequent[topic])[:30]])
        line = Text.assemble(("● ", colour), " ".join(words[:SHOWN_WORDS]))
        line.no_wrap, line.overflow = True, "ellipsis"
        lines.append(line)
    return "finds topics in the manual", Group(*lines)


def _unlike(words: list[str]) -> list[str]:
    """Words without those that begin like an earlier one ("encoding", "encoded")."""
    return [
        word
        for position, word in enumerate(words)
        if not any(word[:STEM_LETTERS] == other[:STEM_LETTERS] for other in words[:position])
    ]


def _digit(image: NDArray[Any], colour: str) -> Text:
    return picture(np.asarray(image).reshape(DIGIT_SIDE, DIGIT_SIDE), colour)


def _side_by_side(columns: list[tuple[Text, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(*(drawing for drawing, _ in columns))
    table.add_row(*(Text(caption, style=QUIET_STYLE) for _, caption in columns))
    return table


_SAMPLES: dict[str, Callable[[PreparedJob, str], Sample]] = {
    "mlr": _digits_read,
    "nmf": _digit_rebuilt,
    "lasso": _strongest_features,
    "lda": _topics,
}
