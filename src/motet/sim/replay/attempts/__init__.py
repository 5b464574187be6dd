"""How attempts of jobs begin, stop and fail in virtual time."""
