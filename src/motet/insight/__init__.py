"""What became of a job, and why: for people. Pure."""
