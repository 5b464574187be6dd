"""Gradients that leave, and values of parameters that arrive, while the program goes on."""
