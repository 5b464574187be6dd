"""Secrets of jobs of a live cluster follow from that of the pool, and are of one job each."""

from __future__ import annotations

import pytest

from motet.aggregation.wire.job_credentials import JobCredential, job_of_client, job_of_cluster
from motet.domain.errors import BadInput
from motet.transport.authentication import MAX_CLIENT_ID_BYTES

POOL = bytes(range(32))


def test_the_environment_carries_a_credential() -> None:
    given = JobCredential.derived(POOL, "motet-7-a0.1")
    assert JobCredential.of_environment(given.variables) == given
    assert JobCredential.of_environment({}) is None


def test_each_job_and_each_pool_has_a_secret_of_its_own() -> None:
    secrets = {
        JobCredential.derived(pool, job).secret
        for pool in (POOL, bytes(32))
        for job in ("motet-7-a0.1", "motet-7-a0.2")
    }
    assert len(secrets) == 4
    assert {len(each) for each in secrets} == {32}


def test_all_jobs_of_a_program_in_the_pool_are_of_its_job() -> None:
    own = JobCredential.derived(POOL, "motet-7-a0.1")
    assert own.pool_job("motet-7-a0.1") == "motet-7-a0.1"
    assert own.pool_job("critic") == "motet-7-a0.1/critic"
    assert own.pool_job("motet-7-a0.1/critic") == "motet-7-a0.1/critic"
    assert own.pool_job("motet-7-a0.12") == "motet-7-a0.1/motet-7-a0.12"
    assert {job_of_cluster(own.pool_job(each)) for each in ("critic", "motet-7-a0.1")} == {own.job}


def test_a_client_names_its_job_in_the_room_that_the_handshake_has() -> None:
    longest = JobCredential.derived(POOL, f"motet-{10**9}-{2**55:x}.1000")
    name = longest.client_name()
    assert len(name.encode()) <= MAX_CLIENT_ID_BYTES
    assert (job_of_client(name), job_of_client("0123456789abcdef")) == (longest.job, None)


def test_a_damaged_secret_is_named() -> None:
    broken = {"MOTET_AGGREGATION_JOB": "a.1", "MOTET_AGGREGATION_SECRET": "no"}
    with pytest.raises(BadInput, match="MOTET_AGGREGATION_SECRET in the environment is no secret"):
        JobCredential.of_environment(broken)
