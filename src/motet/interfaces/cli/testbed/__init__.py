"""`motet testbed`: many machines on this one."""
