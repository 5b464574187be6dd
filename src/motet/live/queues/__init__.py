"""The queues of the live cluster: what users decide about them, and what is in force."""
