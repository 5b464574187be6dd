"""The scheduling loop of every driver: events in, one decision, actions out. Pure."""
