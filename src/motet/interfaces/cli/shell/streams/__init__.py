"""Standard streams, the terminal, and text that is safe to write to them."""
