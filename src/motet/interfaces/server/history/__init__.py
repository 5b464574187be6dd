"""What the server knows of the past: accounting records and usage."""
