"""What a process gets of its machine: GPUs that are its slots, and a limit of its memory."""
