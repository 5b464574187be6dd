"""Limits of the running time of jobs: `max_duration`. Pure.

The time counts for which all processes of an attempt ran, over all attempts: also work that a
preemption or a lost machine made the job repeat, but no time in line, suspended or starting. So a
job that hangs ends, however often its policy preempts it. Kueue counts in the same way
(`maximumExecutionTimeSeconds`); Slurm begins anew when a job is requeued.
"""
