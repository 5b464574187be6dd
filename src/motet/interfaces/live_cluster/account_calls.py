"""What `motet.Client` does with users, tokens, webhooks and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from motet.interfaces.api_access.token_life import USUAL_LIFE_DAYS
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.arguments import require_text, require_texts
from motet.interfaces.live_cluster.cluster_answers import NewToken, NewWebhook
from motet.interfaces.live_cluster.frames import indexed_frame
from motet.interfaces.python_messages import python_methods

if TYPE_CHECKING:
    import pandas as pd

_USERS = ("name", "role", "created_at", "created_by", "revoked_at")
_TOKENS = (
    *("id", "user", "role", "label", "created_at", "created_by", "expires_at", "revoked_at"),
)
_WEBHOOKS = ("id", "url", "events", "created_at", "created_by", "delivered_at", "problem")
_AUDIT = ("id", "at", "user", "role", "token", "source", "action", "target", "status")


@python_methods
class AccountCalls:
    """Users, tokens, webhooks, audit. Most of it is for administrators."""

    _live: LiveClient

    def users(self) -> pd.DataFrame:
        """A row per user, indexed by `name`, the revoked ones too."""
        return indexed_frame(self._live.users(), _USERS, "name")

    def create_user(self, name: str, role: str = "user") -> None:
        """Create a user without a token. `role`: viewer, user or admin."""
        require_text("name", name)
        self._live.create_user(name, role)

    def revoke_user(self, name: str) -> None:
        """Refuse all tokens of a user; jobs run on."""
        require_text("name", name)
        self._live.revoke_user(name)

    def tokens(self) -> pd.DataFrame:
        """A row per token, indexed by `id`: all of them for an admin, else one's own."""
        return indexed_frame(self._live.tokens(), _TOKENS, "id")

    def create_token(
        self,
        user: str,
        *,
        role: str | None = None,
        label: str = "",
        days: int | None = USUAL_LIFE_DAYS,
    ) -> NewToken:
        """Create a token. `role`: the most that it allows; None: the user's. `days`: until it
        expires; None: never."""
        require_text("user", user)
        return NewToken.of(self._live.create_token(user, role, label, days))

    def revoke_token(self, token: str) -> None:
        """Refuse a token, given by its id, from now on."""
        require_text("token", token)
        self._live.revoke_token(token)

    def webhooks(self) -> pd.DataFrame:
        """A row per webhook, indexed by `id`; `problem`: why the last delivery failed."""
        return indexed_frame(self._live.webhooks(), _WEBHOOKS, "id")

    def add_webhook(self, url: str, events: Sequence[str] = ()) -> NewWebhook:
        """Tell a program at this URL what happens from now on. `events`: kinds; empty: all."""
        require_text("url", url)
        require_texts("events", events, "job.ended")
        return NewWebhook.of(self._live.add_webhook(url, events))

    def test_webhook(self, webhook: str) -> str | None:
        """Send a message once; returns why it was not received, or None."""
        require_text("webhook", webhook)
        problem: str | None = self._live.send_test_message(webhook)["problem"]
        return problem

    def remove_webhook(self, webhook: str) -> None:
        """Tell this program nothing any more."""
        require_text("webhook", webhook)
        self._live.remove_webhook(webhook)

    def audit(self, user: str = "", limit: int = 100) -> pd.DataFrame:
        """The latest requests that changed something or were refused, the latest first, indexed by
        `id`. `user`: only of this one; empty: all."""
        require_text("user", user)
        return indexed_frame(self._live.audit(user, limit), _AUDIT, "id")
