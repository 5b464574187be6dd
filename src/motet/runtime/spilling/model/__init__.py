"""The blocks of the model on a spill target, when input on it does not suffice."""
