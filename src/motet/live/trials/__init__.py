"""Trials: a job of several processes first runs with as few as possible, for a short time. Pure.

Most jobs that fail do so early, by an error of the user, and those with many processes waste the
most (Jeon et al., Analysis of Large-Scale Multi-Tenant GPU Clusters, 2019, which proposes a small
pool for such runs). The trial is a job of its own; the job itself waits for its success.
"""
