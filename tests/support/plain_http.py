"""HTTP clients without TLS: without this httpx reads certificates for each, which takes 25 ms."""

from __future__ import annotations

import ssl

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""The argument `verify`: accepts no certificate."""
