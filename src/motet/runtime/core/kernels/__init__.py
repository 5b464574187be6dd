"""Compiled loops of the runtime, and the compiler."""
