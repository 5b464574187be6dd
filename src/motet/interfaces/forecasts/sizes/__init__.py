"""Trainings whose size changes in a replay: sizes that they had, their speeds and their work."""
