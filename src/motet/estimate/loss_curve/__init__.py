"""How a job's loss goes on: curves fitted to what it reported, and a blend of them. Pure.

`predictor` is the way in; `exponential` and `hyperbola` fit the families, `blend` weighs them by
how well each one foretold what is known by now.
"""
