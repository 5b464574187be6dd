"""The master: events go through the journal into the engine, actions to the launcher."""
