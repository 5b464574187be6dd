"""Which role a request needs, by its method and path. Pure.

A path that is not named here needs the role admin for changes, so a new route is closed at first.
Whose job it is, the routes of jobs decide.
"""

from __future__ import annotations

from motet.live.accounts.roles import UserRole

READING = {"GET", "HEAD", "OPTIONS"}
_SECRET = ("/api/v1/users", "/api/v1/audit", "/api/v1/webhooks")
_OF_USERS = (
    *("/api/v1/jobs", "/jobs", "/api/v1/snapshots"),
    *("/api/v1/whatif", "/whatif", "/api/v1/dry-run", "/decisions"),
)
_OF_ALL = ("/logout", "/api/v1/tokens/")


def needed_role(method: str, path: str) -> UserRole:
    """The lowest role that may send it."""
    if method in READING:
        return UserRole.ADMIN if _is_below(path, _SECRET) else UserRole.VIEWER
    if _is_below(path, _OF_USERS):
        return UserRole.USER
    is_own = method in ("POST", "DELETE") and path.startswith(_OF_ALL)
    return UserRole.VIEWER if is_own else UserRole.ADMIN


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(place + "/") for place in places)
