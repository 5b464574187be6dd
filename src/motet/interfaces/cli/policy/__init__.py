"""`motet policy`: policies in general, and the policy of the live cluster."""
