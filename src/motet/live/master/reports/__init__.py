"""Reports of the launcher, turned into facts and events."""
