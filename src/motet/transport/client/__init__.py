"""The calling end: submits requests, waits for replies, reconnects after a break."""
