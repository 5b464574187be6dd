"""The jobs of `motet demo` and of `motet server --demo`: when they arrive, what they run."""
