"""The commands `motet user`, `motet token` and `motet audit`: who may use a live cluster."""
