"""Infiniswap: idle memory of other machines behind a block device and behind arrays."""
