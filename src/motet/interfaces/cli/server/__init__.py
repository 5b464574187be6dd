"""The command `motet server`: start a server, back its journal up, and restore it."""
