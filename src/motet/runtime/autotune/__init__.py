"""Cruise at work on a running job: measurements in, reconfiguration plans out."""
