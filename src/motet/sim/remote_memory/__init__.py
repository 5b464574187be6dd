"""Remote memory in virtual time: placement and eviction of Infiniswap over many machines."""
