"""Wrong arguments of `motet.Client`: one error each, in the words of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import motet
from motet.domain.errors import BadInput, MotetError, Unreachable


@pytest.fixture
def client() -> Iterator[Any]:
    """Of a port at which nothing listens; untyped: the calls are wrong."""
    with motet.Client("http://127.0.0.1:9", "secret") as found:
        yield found


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda it: it.submit(run=3), "run=3: give a command ('python train.py') or a list of its"),
        (lambda it: it.submit(3), "file=3: give the path of a job file"),
        (lambda it: it.submit(run="true", key=3), "key=3: give a text"),
        (lambda it: it.job(None), "job=None: give the id of a job, or a job"),
        (lambda it: it.cancel(1.5), "job=1.5: give the id of a job, or a job"),
        (lambda it: it.jobs(states="RUNNING"), "states='RUNNING': give a list, ['RUNNING']"),
        (lambda it: it.jobs(states=3), "states=3: give a list of states"),
        (lambda it: it.jobs(array=[1]), "array=[1]: give the id of a job, or a job"),
        (lambda it: it.wait(1, "x"), "timeout_s='x': give seconds"),
        (lambda it: it.wait(1, float("nan")), "timeout_s=nan: give seconds"),
    ],
)
def test_a_wrong_argument_is_named_before_the_server_is_asked(
    client: Any, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(BadInput) as raised:
        call(client)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": 3}, "url=3: give the address of the server"),
        ({"url": "http://h:1", "token": 3}, "token=3: give a text"),
        ({"state_dir": 3}, "state_dir=3: give the path of the server's state folder"),
        ({"url": "ftp://x", "token": "t"}, "url='ftp://x': not a URL; write http://HOST:PORT"),
    ],
)
def test_wrong_arguments_of_the_client_itself(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        motet.Client(**arguments)
    assert str(raised.value).startswith(message)


def test_errors_name_arguments_instead_of_options(client: Any, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"start it with 'motet server', or give url=URL$"):
        client.jobs()
    with pytest.raises(Unreachable, match="give url=URL"):
        list(client.follow(1))
    with pytest.raises(MotetError, match="give url=URL"):
        motet.Client(state_dir=tmp_path)
