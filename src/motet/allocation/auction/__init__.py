"""Themis' auction: free GPUs go to the experiments that are furthest from their fair finish. Pure.

`line` lays the free GPUs out, `division` and `bids` say what stretches of them are worth to an
experiment, `optimum` finds who gets which, `rounds` holds the auction with its hidden payments;
`participants` says who may bid, `leases` what a winner keeps and `leftovers` who gets the rest.
"""
