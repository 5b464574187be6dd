"""The one loop body under every driver: events in, a decision, actions out. Pure."""
