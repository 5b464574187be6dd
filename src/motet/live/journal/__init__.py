"""The durable journal: a database of numbered records, of which all other state is a fold."""
