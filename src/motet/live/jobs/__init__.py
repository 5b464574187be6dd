"""Jobs of the live cluster: what users submit, the states of jobs, and their attempts."""
