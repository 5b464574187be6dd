"""Data sets without a file: bundled real data and generators."""
