"""The state of a pool of Aggregators as pMaster knows it, and what happens to it. Pure."""
