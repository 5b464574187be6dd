"""pMaster: which Aggregators there are, and which of them holds each tensor of each job."""
