"""The client of the parameter server: keyed pulls and pushes, routed to block owners."""
