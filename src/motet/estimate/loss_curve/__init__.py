"""Prediction of a job's loss: curves fitted to its reports, and a blend of them. Pure.

`predictor` is the entry point; `exponential` and `hyperbola` fit the families, `blend` weights them
by their errors in back-tests.
"""
