"""What the server has simulated for it: the program that simulates, and its routes."""
