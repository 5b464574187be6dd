"""What is preferred among groupings of nearly the same use: fewer jobs, jobs that end together."""
