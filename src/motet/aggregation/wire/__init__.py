"""What Agents, Aggregators and pMaster say to each other: frozen values, typed messages. Pure."""
