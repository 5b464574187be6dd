"""Compiles what decisions need before the first one, in a process of its own."""
