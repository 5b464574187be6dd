"""Jobs on the same machines: their COMP and COMM times, the group iteration, utilisation. Pure."""
