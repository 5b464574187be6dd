"""Calibration of a fleet whose cost model agrees with the workers' measurements. Pure."""
