"""From what workers measure to a fleet whose cost model agrees with it. Pure."""
