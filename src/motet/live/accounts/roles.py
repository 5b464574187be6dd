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

    @property
    def rank(self) -> int:
        """Larger for a role with more rights."""
        return _ORDER.index(self)

    def includes(self, other: UserRole) -> bool:
        """Whether this role has all rights of the other one."""
        return self.rank >= other.rank

    def at_most(self, other: UserRole) -> UserRole:
        """The lower one of both."""
        return self if other.includes(self) else other


_ORDER = [*UserRole]


class RoleBound(StrEnum):
    """What keeps a caller from a higher role: the user's own role, that of the token, or a server
    that other machines reach and that does not trust its users."""

    USER = "user"
    TOKEN = "token"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request. `token`: the id of the token. `bound`: why the role is no higher."""

    user: str
    role: UserRole
    token: str
    bound: RoleBound = RoleBound.USER

    def may_use(self, owner: str) -> bool:
        """Whether the caller may change a job of this user and read its log."""
        is_own = owner == self.user and self.role.includes(UserRole.USER)
        return is_own or self.role is UserRole.ADMIN

    def require(self, role: UserRole) -> None:
        """Raises Forbidden."""
        if not self.role.includes(role):
            raise Forbidden(f"{self._known_as}; this needs {role}{self._remedy}")

    def require_use(self, job: int, owner: str) -> None:
        """Raises Forbidden for a job that the caller may not use."""
        if owner == self.user:
            self.require(UserRole.USER)
        elif not self.may_use(owner):
            raise Forbidden(f"job {job} belongs to {owner}; {self._known_as}{self._remedy}")

    @property
    def _known_as(self) -> str:
        match self.bound:
            case RoleBound.USER:
                return f"{self.user} has the role {self.role}"
            case RoleBound.TOKEN:
                return f"this token of {self.user} has the role {self.role}"
            case RoleBound.SERVER:
                return f"on this server {self.user} has the role {self.role}"

    @property
    def _remedy(self) -> str:
        match self.bound:
            case RoleBound.USER:
                return ""
            case RoleBound.TOKEN:
                return f"; use one with more rights: 'motet token create {self.user}' makes one"
            case RoleBound.SERVER:
                return ", which --trusted-users of 'motet server' allows"
