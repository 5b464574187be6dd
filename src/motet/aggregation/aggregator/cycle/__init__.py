"""The cycle of an Aggregator: which job's aggregation runs next, and the thread that runs it."""
