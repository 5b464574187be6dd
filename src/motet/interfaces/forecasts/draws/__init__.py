"""What happens in a simulation beside decisions: run times, start-ups, later submissions."""
