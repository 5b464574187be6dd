"""The memory that a cluster lends: API, page and figures."""
