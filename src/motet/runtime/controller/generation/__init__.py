"""One generation of a job: its executors, the messages to them, its epochs."""
