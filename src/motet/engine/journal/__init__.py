"""Records of the engine's input and decisions: events to replay, decisions to explain."""
