"""Roles: what each may do, and with whose jobs."""

from __future__ import annotations

import pytest

from motet.live.accounts.roles import Caller, Forbidden, UserRole


def test_roles_are_ordered() -> None:
    included = [[one.includes(other) for other in UserRole] for one in UserRole]
    assert included == [[True, False, False], [True, True, False], [True, True, True]]
    assert UserRole.ADMIN.at_most(UserRole.VIEWER) is UserRole.VIEWER
    assert UserRole.VIEWER.at_most(UserRole.ADMIN) is UserRole.VIEWER


@pytest.mark.parametrize(
    ("role", "own", "others"),
    [(UserRole.VIEWER, False, False), (UserRole.USER, True, False), (UserRole.ADMIN, True, True)],
)
def test_jobs_belong_to_their_users(role: UserRole, own: bool, others: bool) -> None:
    caller = Caller("bob", role, "t")
    assert (caller.may_use("bob"), caller.may_use("eve")) == (own, others)


def test_a_refusal_names_user_and_role() -> None:
    caller = Caller("bob", UserRole.USER, "t")
    with pytest.raises(Forbidden, match="bob has the role user; this needs admin"):
        caller.require(UserRole.ADMIN)
    with pytest.raises(Forbidden, match="job 7 belongs to eve"):
        caller.require_use(7, "eve")
