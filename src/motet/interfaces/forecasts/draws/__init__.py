"""What is drawn for possible futures: run times, start-ups and later submissions."""
