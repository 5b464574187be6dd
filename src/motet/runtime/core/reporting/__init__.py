"""What a run reports while it goes on and at its end."""
