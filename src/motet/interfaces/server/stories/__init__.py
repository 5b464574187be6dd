"""The story of a live job: why it waited, where it ran, what it lost, and what helps."""
