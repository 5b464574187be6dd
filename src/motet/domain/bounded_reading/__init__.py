"""Readers of users' files with limits: compressed data, arrays, YAML and JSON.

They work on streams that their callers open, and read nothing that exceeds the limits.
"""
