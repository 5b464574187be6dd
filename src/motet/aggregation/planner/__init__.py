"""The planner of pMaster: which Aggregator holds each tensor, and how many Aggregators. Pure."""
