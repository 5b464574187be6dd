"""Sequential packing of gangs by the alignment of their demands (Tetris). Compiled."""
