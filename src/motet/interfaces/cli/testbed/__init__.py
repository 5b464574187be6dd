"""`motet testbed`: many logical machines on this one."""
