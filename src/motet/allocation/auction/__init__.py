"""Themis' auction: free GPUs go to the experiments with the largest rho. Pure.

`line` orders the free GPUs, `division` and `bids` compute the value of stretches of that line for
an experiment, `optimum` computes the best allocation, `rounds` runs the auction with its hidden
payments; `participants` selects the bidders, `leases` computes how much of an award a winner keeps,
and `leftovers` distributes the remaining GPUs.
"""
