"""What lenders and borrowers say to each other: eight messages, and the heads of data. Pure."""
