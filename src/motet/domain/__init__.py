"""What every layer speaks: pure values, no input or output, no clock, no random numbers."""
