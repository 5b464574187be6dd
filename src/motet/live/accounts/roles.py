"""What a user may do: three roles, each with the rights of those below it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from motet.domain.errors import MotetError

OWNER_TOKEN = "owner"
"""The id of the token in the state folder."""


class Forbidden(MotetError):
    """The user is known and may not do this."""


class UserRole(StrEnum):
    """`viewer` reads, `user` has jobs, `admin` changes the cluster and the jobs of others."""

    VIEWER = "viewer"
    USER = "user"
    ADMIN = "admin"

    def includes(self, other: UserRole) -> bool:
        """Whether this role has all rights of the other one."""
        return _ORDER.index(self) >= _ORDER.index(other)

    def at_most(self, other: UserRole) -> UserRole:
        """The lower one of both."""
        return self if other.includes(self) else other


_ORDER = [*UserRole]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request. `token`: the id of the token."""

    user: str
    role: UserRole
    token: str

    def may_use(self, owner: str) -> bool:
        """Whether the caller may change a job of this user and read its log."""
        is_own = owner == self.user and self.role.includes(UserRole.USER)
        return is_own or self.role is UserRole.ADMIN

    def require(self, role: UserRole) -> None:
        """Raises Forbidden."""
        if not self.role.includes(role):
            raise Forbidden(f"{self.user} has the role {self.role}; this needs {role}")

    def require_use(self, job: int, owner: str) -> None:
        """Raises Forbidden for a job that the caller may not use."""
        if not self.may_use(owner):
            raise Forbidden(f"job {job} belongs to {owner}; {self.user} has the role {self.role}")
