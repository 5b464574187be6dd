"""Figures of machines that lend memory."""
