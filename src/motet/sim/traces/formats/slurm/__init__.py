"""Accounting logs of the batch system Slurm, as `sacct --parsable2` prints them."""
