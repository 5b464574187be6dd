"""Progress of training jobs on the terminal: bars, loss curves, log lines."""
