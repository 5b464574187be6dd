"""The serving end: accepts connections, runs the handler on requests, and sends replies."""
