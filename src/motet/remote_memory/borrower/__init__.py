"""The store of a device: pages in slabs of lenders, and all of them in a backup file."""
