"""Names of clients: whose quota they use, and which secret they have."""

from __future__ import annotations

from motet.remote_memory.wire.borrower_names import (
    borrower_of,
    job_client,
    job_of_borrower,
    job_secret,
)


def test_all_clients_of_a_job_are_one_borrower() -> None:
    first, second = f"{job_client('motet-7-abc.1')}/11", f"{job_client('motet-7-abc.1')}/22"
    assert borrower_of(first) == borrower_of(second) == job_client("motet-7-abc.1")
    assert job_of_borrower(first) == "motet-7-abc.1"


def test_devices_of_no_cluster_are_borrowers_of_their_own() -> None:
    assert borrower_of("swap/11") != borrower_of("swap/22")
    assert job_of_borrower("swap/11") is None


def test_secrets_differ_by_job_and_by_cluster() -> None:
    secrets = {job_secret(key, job) for key in (b"a" * 32, b"b" * 32) for job in ("1.1", "1.2")}
    assert len(secrets) == 4
