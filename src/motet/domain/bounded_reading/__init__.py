"""Readers of users' files with limits: compressed data, arrays and YAML.

They work on streams that their callers open, and read nothing that exceeds the limits.
"""
