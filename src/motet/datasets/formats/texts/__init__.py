"""Readers of documents: files and folders of text, and the texts of a table."""
