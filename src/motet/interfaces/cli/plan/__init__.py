"""`motet plan`: what Cruise would choose for a described job."""
