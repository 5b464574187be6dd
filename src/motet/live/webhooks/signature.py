"""Signatures of messages, as Standard Webhooks defines them. Pure.

The signed text is `ID.TIMESTAMP.BODY`; the time lets a receiver refuse a message that somebody has
recorded and sends again. Source: the specification of Standard Webhooks, section Signature scheme.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_signing_secret() -> str:
    """A text that receiver and server share."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signed_headers(secret: str, message: str, at_s: int, body: bytes) -> dict[str, str]:
    """Headers of a message. `message`: its id; `at_s`: Unix time of this delivery."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    text = f"{message}.{at_s}.".encode() + body
    digest = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{digest}",
    }
