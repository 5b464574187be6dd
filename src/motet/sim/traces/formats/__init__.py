"""Trace formats, one module per format, and what their readers share."""
