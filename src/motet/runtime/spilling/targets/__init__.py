"""Where spilled data lie: on a disk, or in the memory of other machines and on a disk."""
