"""The server's log: one line per event, as text or JSON, written by a thread of its own."""
