"""Arrays larger than memory, on the same slabs as block devices."""
