"""Times and durations as logs write them."""
