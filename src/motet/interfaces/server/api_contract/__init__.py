"""What the API accepts and answers: its OpenAPI description, and unknown query parameters."""
