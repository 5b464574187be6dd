"""One simulation: a workload under a policy in virtual time."""
