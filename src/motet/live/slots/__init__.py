"""What the slots of a machine are: its GPUs, or parts of a machine without GPUs."""
