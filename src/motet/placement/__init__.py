"""Which machines a gang runs on. Pure planners."""
