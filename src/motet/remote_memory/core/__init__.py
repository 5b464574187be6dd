"""What lenders and borrowers decide: slab states, placement, evictions, pending writes. Pure."""
