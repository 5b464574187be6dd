"""Signatures of webhooks: those of the specification of Standard Webhooks."""

from __future__ import annotations

from motet.live.webhooks.signature import PREFIX, new_signing_secret, signed_headers


def test_the_signature_is_that_of_the_specification() -> None:
    """The worked example of the specification and of its libraries."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_secrets_are_new() -> None:
    assert new_signing_secret() != new_signing_secret()
    assert new_signing_secret().startswith(PREFIX)
