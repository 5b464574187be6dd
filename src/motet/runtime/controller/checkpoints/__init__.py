"""Checkpoints on disk: written atomically, verified completely before they are used."""
