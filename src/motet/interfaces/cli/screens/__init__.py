"""What is drawn on the terminal while jobs train: progress, losses, logs."""
