"""Data that needs no file: bundled real data sets and generators."""
