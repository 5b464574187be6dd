"""Users of the live cluster, their tokens, and who did what: tables beside the journal."""
