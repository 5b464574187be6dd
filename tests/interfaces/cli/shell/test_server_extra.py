"""Commands of the server without its packages."""

from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.cli.shell import server_extra


def test_missing_packages_are_named_with_what_works_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_extra, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(BadInput) as raised:
        server_extra.require_server_extra(", or run 'motet demo --training'")
    assert str(raised.value) == (
        "the server needs uvicorn, which this environment lacks; pip install 'motet[server]', "
        "or run 'motet demo --training'"
    )
