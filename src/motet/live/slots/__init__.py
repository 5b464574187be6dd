"""What a process gets of its machine: a slot, the GPUs that are slots, a limit of its memory."""
