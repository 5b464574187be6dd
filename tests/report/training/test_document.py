"""`motet train --json`: the contract's fields, strictly valid JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from motet.report.rendering.json_text import to_json
from motet.report.training.document import TrainDocument
from motet.runtime.core.reporting.reports import Help
from sample_result import EPOCHS, lasso_result

FIELDS = [
    "app",
    "data",
    "epochs",
    "loss",
    "final_loss",
    "metrics",
    "workers",
    "servers",
    "wall_s",
    "epoch_s",
    "comp_s",
    "comm_s",
    "load_s",
    "room_s",
    "model_spill_bytes",
    "model_spill_s",
    "remote_bytes",
    "remote_read_bytes",
    "backup_read_bytes",
    "bytes_pulled",
    "bytes_pushed",
    "reconfigurations",
    "recoveries",
    "help",
    "model_sha256",
    "convergence",
    "resumed_from_epoch",
    "earlier_s",
]


@pytest.fixture(scope="module")
def document() -> TrainDocument:
    return TrainDocument.of(lasso_result(), "diabetes", 3, 2, {"test_rmse": 0.7})


def test_the_fields_are_those_of_the_contract_in_its_order(document: TrainDocument) -> None:
    assert list(json.loads(to_json(document.as_dict()))) == FIELDS


def test_the_document_repeats_what_was_reported(document: TrainDocument) -> None:
    assert (document.app, document.epochs, len(document.loss)) == ("lasso", EPOCHS, EPOCHS)
    assert (document.workers, document.servers) == (3, 2)
    assert document.final_loss == document.loss[-1] == document.metrics["objective"]
    assert document.metrics["test_rmse"] == 0.7
    assert document.reconfigurations == []


def test_recoveries_are_objects_with_their_cause(document: TrainDocument) -> None:
    assert document.as_dict()["recoveries"] == [
        {"at_epoch": 2, "resumed_from_epoch": 1, "cause": "executor 1 died"}
    ]


def test_what_json_cannot_hold_becomes_null_or_a_plain_number() -> None:
    values = {"nan": math.nan, "inf": -math.inf, "np": np.float64(0.5), "n": np.int32(3)}

    assert json.loads(to_json(values)) == {"nan": None, "inf": None, "np": 0.5, "n": 3}


def test_help_is_summed_over_the_epochs_by_pair_of_workers() -> None:
    result = lasso_result()
    first = (Help(0, 2, batches=2, instances=10), Help(1, 2, batches=1, instances=30))
    second = (Help(0, 2, batches=3, instances=25),)
    epochs = [replace(report, help=()) for report in result.epochs]
    epochs[:2] = [replace(epochs[0], help=first), replace(epochs[1], help=second)]
    document = TrainDocument.of(replace(result, epochs=tuple(epochs)), "diabetes", 3, 1)
    assert document.as_dict()["help"] == [
        {"helper": 0, "helped": 2, "batches": 5, "instances": 35},
        {"helper": 1, "helped": 2, "batches": 1, "instances": 30},
    ]
