"""Lists of live jobs, and lists that follow their changes."""
