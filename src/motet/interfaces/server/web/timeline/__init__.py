"""The page of the time axis: attempts of jobs until now, and their predicted future."""
