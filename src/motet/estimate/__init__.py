"""Estimates of unknown quantities: loss curves, speeds, finish times, epoch costs. Pure."""
