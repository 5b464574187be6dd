"""Values that all layers share: pure, no input or output, no clock, no random numbers."""
