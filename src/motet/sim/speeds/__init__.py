"""Speeds of jobs on GPUs, and the division of models among parameter servers."""
