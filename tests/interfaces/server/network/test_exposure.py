"""Where a server may listen, and under which names it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from certificates import Authority
from motet.domain.errors import BadInput
from motet.interfaces.server.network.exposure import Exposure


def with_tls(folder: Path, *names: str, host: str = "0.0.0.0") -> Exposure:
    issued = Authority(folder).issue(*names)
    return Exposure(host, issued.certificate, issued.key)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::1"])
def test_beyond_this_machine_nothing_is_served_in_the_clear(host: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="tokens would travel unencrypted"):
        Exposure(host).check()
    with_tls(tmp_path, "head.example", host=host).check()
    Exposure(host, proxy_name="head.example").check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_needs_no_encryption(host: str) -> None:
    place = Exposure(host)
    place.check()
    assert place.is_local
    assert not place.is_exposed


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Exposure("localhost"), "--host localhost: give an address"),
        (Exposure("127.0.0.1", proxy_name="https://x"), "--behind-proxy https://x: give the host"),
        (Exposure("127.0.0.1", root_path="motet"), "--root-path motet: write it as /motet"),
        (Exposure("127.0.0.1", root_path="/motet/"), "--root-path /motet/"),
        (Exposure("127.0.0.1", root_path='/"><script>'), "--root-path"),
        (Exposure("127.0.0.1", certificate=Path("c.pem")), "belong together"),
    ],
)
def test_odd_options_are_refused(place: Exposure, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        place.check()


def test_files_that_are_no_certificate_and_its_key_are_refused(tmp_path: Path) -> None:
    first, other = Authority(tmp_path, "one"), Authority(tmp_path, "two")
    issued, stranger = first.issue("a.example"), other.issue("a.example")
    with pytest.raises(BadInput, match="not a PEM certificate and its key"):
        Exposure("0.0.0.0", issued.certificate, stranger.key).check()
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(BadInput, match="not a PEM certificate and its key"):
        Exposure("0.0.0.0", text, issued.key).check()
    with pytest.raises(BadInput, match="subjectAltName"):
        with_tls(tmp_path).check()


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    issued = Authority(tmp_path).issue("a.example")
    issued.key.chmod(0o640)
    with pytest.raises(BadInput, match="mode 0640 lets other users read the key"):
        Exposure("0.0.0.0", issued.certificate, issued.key).check()


def test_a_certificate_gives_the_server_its_names(tmp_path: Path) -> None:
    place = with_tls(tmp_path, "*.lab.example", "head.example", "192.0.2.7", "2001:db8::1")
    assert place.host_names >= {"*.lab.example", "head.example", "192.0.2.7", "[2001:db8::1]"}
    assert place.local_url(8443) == place.public_url(8443) == "https://head.example:8443"


def test_commands_of_this_machine_use_a_loopback_name_where_they_can(tmp_path: Path) -> None:
    assert with_tls(tmp_path, "head.example", "localhost").local_url(1) == "https://localhost:1"
    elsewhere = with_tls(tmp_path, "localhost", "127.0.0.1", "192.0.2.7", host="192.0.2.7")
    assert elsewhere.local_url(1) == "https://192.0.2.7:1"
    only_local = with_tls(tmp_path, "localhost", host="192.0.2.7")
    assert only_local.local_url(1) == "https://192.0.2.7:1"
    proxied = Exposure("127.0.0.1", proxy_name="head.example", root_path="/motet")
    assert proxied.local_url(80) == "http://127.0.0.1:80/motet"
    assert proxied.public_url(80) == "https://head.example/motet"
    assert Exposure("::1").local_url(80) == "http://[::1]:80"


@pytest.mark.parametrize(
    ("place", "host", "scheme"),
    [
        (Exposure(), "127.0.0.1:8000", "http"),
        (Exposure(proxy_name="Head.example"), "head.example", "https"),
        (Exposure(proxy_name="head.example"), "head.example:8443", "https"),
        (Exposure(proxy_name="head.example"), "[::1]:8000", "http"),
        (Exposure(certificate=Path("cert.pem")), "localhost:8000", "https"),
    ],
)
def test_browsers_reach_a_host_by_the_scheme_that_is_in_front_of_it(
    place: Exposure, host: str, scheme: str
) -> None:
    assert place.scheme_of(host) == scheme
