"""`motet train --stragglers help`: the same counts, and refused where nobody waits for anybody."""

from __future__ import annotations

import json

import pytest

from marked_process import run_motet
from trained_here import trained_here

pytestmark = pytest.mark.cluster

DATA = "synthetic-corpus:documents=300"
LDA = ("train", "lda", "--data", DATA, "--machines", "3", "--workers", "3", "--servers", "1")


def test_lda_learns_exactly_the_same_counts_whoever_helps() -> None:
    ended = run_motet(*LDA, "--epochs", "10", "--stragglers", "help", "--json")
    assert ended.code == 0, ended.err
    alone = trained_here("lda", DATA, epochs=10, roles=(1, 1))
    assert json.loads(ended.out)["model_sha256"] == alone.model_sha256


def test_without_bsp_it_is_refused() -> None:
    ended = run_motet(*LDA, "--set", "consistency=async", "--stragglers", "help")
    assert ended.code == 2
    assert "stragglers=help with consistency=async: only under bsp" in ended.err
