"""The simulator: replays a workload under a policy in virtual time."""
