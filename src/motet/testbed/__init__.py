"""Many machines on one: hosts with links, CPU quotas and memory limits of their own."""
