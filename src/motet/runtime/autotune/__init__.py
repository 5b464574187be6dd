"""Cruise on a running job: measurements in, reconfiguration plans out."""
