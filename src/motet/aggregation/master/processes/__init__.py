"""The processes of a pool on this machine: a launcher, pMaster, and the Aggregators."""
