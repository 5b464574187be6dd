"""Replays for the pages, run one by one: of a period under another policy, of one decision."""
