from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.testbed.quantities import (
    bandwidth_of,
    bandwidth_text,
    cpus_of,
    memory_of,
    object_store_of,
    seconds_of,
)


@pytest.mark.parametrize(
    ("text", "bits_per_s"),
    [("50mbit", 50_000_000), ("1gbit", 10**9), ("2.5 Mbit", 2_500_000), ("64kbit", 64_000)],
)
def test_a_bandwidth_has_a_unit(text: str, bits_per_s: int) -> None:
    assert bandwidth_of(text, "here") == bits_per_s


@pytest.mark.parametrize("text", ["50", "mbit", "-1mbit", "0mbit", "50mb", "1e3mbit", "999gbit"])
def test_an_invalid_bandwidth_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"^here: .* is not a bandwidth; write 50mbit"):
        bandwidth_of(text, "here")


@pytest.mark.parametrize("text", ["50mbit", "1gbit", "2.5mbit", "64kbit", "1.234567gbit"])
def test_a_bandwidth_is_formatted_as_it_is_parsed(text: str) -> None:
    assert bandwidth_text(bandwidth_of(text, "here")) == text.replace("1.234567", "1.23457")


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("2 min", 120), ("0s", 0)])
def test_a_time_has_a_unit(text: str, seconds: int) -> None:
    assert seconds_of(text, "here") == seconds


@pytest.mark.parametrize("text", ["30", "s", "-1s", "0.5s", "2h", "61min"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"^here: .* is not a time; write 30s or 2min"):
        seconds_of(text, "here")


def test_memory_has_a_unit() -> None:
    assert memory_of("512mb", "here") == 512_000_000
    assert memory_of("1.5GB", "here") == 1_500_000_000


@pytest.mark.parametrize("text", ["512", "1mb", "mb", "-5gb", "1gbit"])
def test_an_invalid_memory_limit_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"^here: .* is not a memory limit; write 512mb"):
        memory_of(text, "here")


def test_cpus_are_a_number() -> None:
    assert cpus_of("0.2", "here") == 0.2


@pytest.mark.parametrize("text", ["", "two", "nan", "inf", "0", "-1", "0.01", "5000"])
def test_an_invalid_number_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"^here: .* is not a number of CPUs; write 0.2"):
        cpus_of(text, "here")


def test_an_object_store_that_ray_would_refuse_is_refused() -> None:
    assert object_store_of("100mb", "here") == 100_000_000
    with pytest.raises(BadInput, match=r"^here: '10mb' is too small"):
        object_store_of("10mb", "here")
