"""Records of the engine's decisions, to explain them."""
