"""blockd: the process of one device, its folder, and how commands reach it."""
