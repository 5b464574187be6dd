"""What the server runs beside the jobs of its cluster."""
