"""Commands about the past of the live cluster, and what it would have been otherwise."""
