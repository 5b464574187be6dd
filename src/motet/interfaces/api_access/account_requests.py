"""Requests about users, tokens, webhooks and the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from motet.interfaces.api_access.api_requests import ApiRequests
from motet.interfaces.api_access.token_life import USUAL_LIFE_DAYS

_AUDIT_PAGE = 1000


class AccountRequests(ApiRequests):
    """Most of them are for administrators."""

    def me(self) -> dict[str, Any]:
        """The user, the role and the id of the token."""
        return self.ask("GET", "/me")

    def users(self) -> list[dict[str, Any]]:
        """All users, the revoked ones too."""
        return list(self.ask("GET", "/users")["users"])

    def create_user(self, name: str, role: str) -> dict[str, Any]:
        """Create a user without a token."""
        return self.ask("POST", "/users", json={"name": name, "role": role})

    def revoke_user(self, name: str) -> dict[str, Any]:
        """Refuse all tokens of a user."""
        return self.ask("DELETE", f"/users/{quote(name, safe='')}")

    def webhooks(self) -> list[dict[str, Any]]:
        """All webhooks, without their secrets."""
        return list(self.ask("GET", "/webhooks")["webhooks"])

    def add_webhook(self, url: str, events: Sequence[str] = ()) -> dict[str, Any]:
        """A new webhook with its `secret`. `events`: kinds; empty: all."""
        return self.ask("POST", "/webhooks", json={"url": url, "events": [*events]})

    def remove_webhook(self, webhook: str) -> dict[str, Any]:
        """Tell this receiver nothing any more."""
        return self.ask("DELETE", f"/webhooks/{quote(webhook, safe='')}")

    def send_test_message(self, webhook: str) -> dict[str, Any]:
        """Send a message once; `problem`: why it was not received, or None."""
        return self.ask("POST", f"/webhooks/{quote(webhook, safe='')}/test")

    def tokens(self) -> list[dict[str, Any]]:
        """Tokens without their texts: all of them for an admin, else the caller's own."""
        return list(self.ask("GET", "/tokens")["tokens"])

    def create_token(
        self,
        user: str,
        role: str | None = None,
        label: str = "",
        days: int | None = USUAL_LIFE_DAYS,
    ) -> dict[str, Any]:
        """A new token; `text` is what its user sets as MOTET_TOKEN. `days`: None: it has no end."""
        body = {"user": user, "role": role, "label": label, "days": days}
        return self.ask("POST", "/tokens", json=body)

    def revoke_token(self, token_id: str) -> dict[str, Any]:
        """Refuse a token."""
        return self.ask("DELETE", f"/tokens/{quote(token_id, safe='')}")

    def audit(self, user: str, limit: int) -> Iterator[dict[str, Any]]:
        """Requests that changed something or were refused, the latest first. `user`: empty: all."""
        before: int | None = None
        while limit > 0:
            query = {"limit": min(limit, _AUDIT_PAGE), "user": user}
            more = {} if before is None else {"before": before}
            page = self.ask("GET", "/audit", params=query | more)
            yield from page["entries"]
            limit, before = limit - len(page["entries"]), page["next"]
            if before is None:
                return
