"""The parameters of applications and of their runs as text, checked before a training begins."""
