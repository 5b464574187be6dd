"""What a state folder says of its Ray cluster, and the token in it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, Unreachable
from motet.interfaces.ray_nodes.cluster_record import (
    RayClusterRecord,
    make_token,
    node_environment,
)
from motet.interfaces.ray_nodes.node_process import OfferedNode, end_head, joined_node, started_head

RECORD = RayClusterRecord("10.0.0.1:6379", 2**22 - 1, 5.0)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert RayClusterRecord.read(tmp_path) is None
    RECORD.write(tmp_path)
    assert RayClusterRecord.read(tmp_path) == RECORD


@pytest.mark.parametrize("content", ["", "[]", '{"address": "a:1"}', '{"pid": "x"}'])
def test_a_damaged_record_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "ray.json").write_text(content)
    with pytest.raises(BadInput, match=r"ray\.json: damaged; delete it"):
        RayClusterRecord.read(tmp_path)


def test_the_token_is_made_once_and_closed_to_others(tmp_path: Path) -> None:
    make_token(tmp_path)
    token = tmp_path / "ray-token"
    first = token.read_text()
    make_token(tmp_path)

    assert token.read_text() == first
    assert len(first) == 64
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["ray-token"]
    assert node_environment(tmp_path)["RAY_AUTH_TOKEN_PATH"] == str(token)


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make_token(tmp_path)
    (tmp_path / "ray-token").chmod(0o644)
    with pytest.raises(BadInput, match="Ray's token"):
        node_environment(tmp_path)


def test_a_machine_joins_only_a_cluster_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="no cluster is recorded here; start one with"):
        joined_node(tmp_path, OfferedNode("m2", 1, ()))
    RayClusterRecord("127.0.0.1:1", 1, 0.0).write(tmp_path)
    with pytest.raises(Unreachable, match=r"nothing listens at 127\.0\.0\.1:1"):
        joined_node(tmp_path, OfferedNode("m2", 1, ()))


def test_only_the_recorded_process_is_ended(tmp_path: Path) -> None:
    """Process 1 is older than the record says: it has another one's number."""
    assert not end_head(tmp_path)
    RayClusterRecord("127.0.0.1:1", 1, 5.0).write(tmp_path)
    assert not end_head(tmp_path)


@pytest.mark.soak
@pytest.mark.cluster
def test_a_head_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="did not start: "):
        started_head(tmp_path, "127.0.0.1:10002", OfferedNode("m1", 1, ()))
    assert RayClusterRecord.read(tmp_path) is None
