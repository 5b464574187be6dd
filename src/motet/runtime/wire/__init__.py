"""Messages between the processes of one job: their types, their encoding, owners of blocks."""
