"""Routes of webhooks; all of them need the role admin."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from motet.interfaces.server.accounts.caller_of_request import RequestCaller, note_target
from motet.interfaces.server.views import iso
from motet.interfaces.server.webhooks.delivery import Webhooks
from motet.interfaces.server.webhooks.messages import NotDelivered
from motet.live.webhooks.events import KINDS
from motet.live.webhooks.store import LONGEST_URL, Webhook


class WebhookRequest(BaseModel):
    """A webhook to create. `events`: kinds of events; none: all."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, Field(max_length=LONGEST_URL)]
    events: Annotated[list[str], Field(max_length=len(KINDS))] = []


def add_webhook_routes(app: FastAPI, webhooks: Webhooks) -> None:
    """Add the routes."""
    routes, place = WebhookRoutes(webhooks), "/api/v1/webhooks"
    app.add_api_route(place, routes.show)
    app.add_api_route(place, routes.create, methods=["POST"], status_code=201)
    app.add_api_route(place + "/{number}", routes.remove, methods=["DELETE"])
    app.add_api_route(place + "/{number}/test", routes.test, methods=["POST"])


class WebhookRoutes:
    """What the API does with webhooks."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    async def show(self) -> dict[str, Any]:
        """All webhooks, without their secrets."""
        found = await asyncio.to_thread(self._webhooks.store.all)
        return {"webhooks": [_document(each) for each in found]}

    async def create(
        self, wanted: WebhookRequest, request: Request, caller: RequestCaller
    ) -> dict[str, Any]:
        """Create a webhook; the answer has its secret, which is not shown again."""
        add = self._webhooks.add
        webhook, secret = await asyncio.to_thread(add, wanted.url, wanted.events, caller.user)
        note_target(request, f"webhook {webhook.id}")
        return {**_document(webhook), "secret": secret}

    async def remove(self, number: str) -> dict[str, Any]:
        """Tell this receiver nothing from now on."""
        await asyncio.to_thread(self._webhooks.remove, number)
        return {"id": number}

    async def test(self, number: str) -> dict[str, Any]:
        """Send a message to the receiver, once; `problem`: why it was not received, or null."""
        try:
            await self._webhooks.test(number)
        except NotDelivered as error:
            return {"id": number, "problem": str(error)}
        return {"id": number, "problem": None}


def _document(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "events": list(webhook.kinds),
        "created_at": iso(webhook.created_us),
        "created_by": webhook.created_by,
        "delivered_at": iso(webhook.delivered_us),
        "problem": webhook.problem or None,
    }
