"""Replays under other policies for the pages: started by users, run one by one, kept."""
