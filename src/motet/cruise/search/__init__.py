"""The search for the best configuration of one job on given machines. Pure."""
