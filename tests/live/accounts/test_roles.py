"""Roles: what each may do, and with whose jobs."""

from __future__ import annotations

import pytest

from motet.live.accounts.roles import Caller, Forbidden, RoleBound, UserRole


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
    with pytest.raises(Forbidden, match=r"^job 7 belongs to eve; bob has the role user$"):
        caller.require_use(7, "eve")


def test_a_refusal_names_the_token_or_the_server_that_has_less_rights() -> None:
    by_token = Caller("bob", UserRole.VIEWER, "t", RoleBound.TOKEN)
    with pytest.raises(Forbidden) as refused:
        by_token.require_use(7, "bob")
    assert str(refused.value) == (
        "this token of bob has the role viewer; this needs user; use one with more rights: "
        "'motet token create bob' makes one"
    )
    with pytest.raises(Forbidden, match=r"^job 7 belongs to eve; this token of bob has the role v"):
        by_token.require_use(7, "eve")
    by_server = Caller("bob", UserRole.VIEWER, "t", RoleBound.SERVER)
    with pytest.raises(Forbidden) as refused:
        by_server.require(UserRole.USER)
    assert str(refused.value) == (
        "on this server bob has the role viewer; this needs user, which --trusted-users of "
        "'motet server' allows"
    )
