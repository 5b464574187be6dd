"""The live driver: runs real jobs by the decisions of the engine, in wall-clock time."""
