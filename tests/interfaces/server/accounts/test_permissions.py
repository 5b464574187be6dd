"""Which role a request needs; what is not named is closed."""

from __future__ import annotations

import pytest

from motet.interfaces.server.accounts.permissions import needed_role
from motet.live.accounts.roles import UserRole


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/api/v1/jobs", UserRole.VIEWER),
        ("GET", "/metrics", UserRole.VIEWER),
        ("GET", "/api/v1/tokens", UserRole.VIEWER),
        ("GET", "/api/v1/users", UserRole.ADMIN),
        ("HEAD", "/api/v1/audit", UserRole.ADMIN),
        ("POST", "/api/v1/jobs", UserRole.USER),
        ("POST", "/api/v1/jobs/7/cancel", UserRole.USER),
        ("PATCH", "/api/v1/jobs/7", UserRole.USER),
        ("POST", "/jobs/7/cancel", UserRole.USER),
        ("POST", "/api/v1/whatif", UserRole.USER),
        ("GET", "/whatif/7", UserRole.VIEWER),
        ("POST", "/whatif", UserRole.USER),
        ("GET", "/decisions/7", UserRole.VIEWER),
        ("POST", "/decisions/7/replay", UserRole.USER),
        ("POST", "/whatif/7/stop", UserRole.USER),
        ("DELETE", "/api/v1/tokens/ab", UserRole.VIEWER),
        ("POST", "/logout", UserRole.VIEWER),
        ("PUT", "/api/v1/policy", UserRole.ADMIN),
        ("POST", "/api/v1/machines/m0/drain", UserRole.ADMIN),
        ("POST", "/api/v1/queues", UserRole.ADMIN),
        ("POST", "/api/v1/tokens", UserRole.ADMIN),
        ("DELETE", "/api/v1/users/bob", UserRole.ADMIN),
        ("POST", "/api/v1/jobsx", UserRole.ADMIN),
        ("POST", "/api/v1/something/new", UserRole.ADMIN),
        ("PROPFIND", "/api/v1/policy", UserRole.ADMIN),
    ],
)
def test_the_table(method: str, path: str, role: UserRole) -> None:
    assert needed_role(method, path) is role
