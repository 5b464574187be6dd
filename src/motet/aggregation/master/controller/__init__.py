"""What pMaster decides, without any input or output: events in, instructions out. Pure."""
