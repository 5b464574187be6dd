"""What the processes of one job say to each other: message heads, assignments, ownership."""
