"""`motet plan`: the configuration that Cruise would choose for a described job."""
