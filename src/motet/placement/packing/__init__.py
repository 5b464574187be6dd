"""Gangs packed one after the other by the alignment of their demands (Tetris). Compiled."""
