"""The command `motet predict` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from motet.interfaces.cli.apps.completion_words import complete_data
from motet.interfaces.cli.shell.option_groups import json_option


@click.command("predict", short_help="Predict with a trained model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    metavar="PATH|NAME",
    shell_complete=complete_data,
    help="File to predict on, or the name of a built-in data set.",
)
@click.option("--format", "format_name", metavar="F", help="Format of the file.")
@click.option("--target", metavar="NAME|INDEX", help="CSV: the column to predict; it is not read.")
@click.option(
    "--drop",
    multiple=True,
    metavar="NAME|INDEX",
    help="CSV: a column to leave out (missing, missing-rows: see docs).",
)
@click.option("--na", metavar="TOKEN", help="CSV: text that stands for a missing value.")
@click.option(
    "--columns",
    multiple=True,
    metavar="ROLE=NAME,...",
    help="Ratings: columns that are not found by their names, as in user=reviewerID,item=asin.",
)
@click.option(
    "--app", metavar="FILE", help="File of your own application, ./mine.py, if MODEL is of one."
)
@click.option(
    "--proba",
    "with_probabilities",
    is_flag=True,
    help="Classes: also write the probability of each class.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write, a new one; '-' is stdout.  [default: stdout]",
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --out.")
@json_option()
def predict_command(**flags: Any) -> None:
    """Write the predictions of MODEL, the folder or the model.npz of 'motet train --out'.

    CSV, or JSON with --json. One row per row of the data: the class or value; of LDA the share of
    each topic, of ratings user, item and predicted rating, for a table with columns of users and
    items. Columns that the model does not use are not read. A row that --drop missing-rows leaves
    out has an empty prediction.

    \b
    Examples:
      motet predict runs/digits/model.npz --data digits
      motet predict runs/wine --data new.csv --drop label --proba --out predicted.csv
    """
    from motet.interfaces.cli.predict.run import PredictFlags, run_prediction

    run_prediction(PredictFlags(**flags))
