"""Limits of the running time of jobs: `max_duration`. Pure.

The time counts from the start of the last process of an attempt to the end of its last one, by the
clocks of their shepherds, over all attempts: also the grace period of a stop, and work that a
preemption or a lost machine made the job repeat, but no time in line, suspended or starting. So a
job that hangs ends, however often its policy preempts it. Kueue counts in the same way
(`maximumExecutionTimeSeconds`); Slurm begins anew when a job is requeued.
"""
