"""The live cluster in the simulator: its journal becomes a workload, its state a start."""
