"""The past under another policy: the journal of a period replayed, its report and its summary."""
