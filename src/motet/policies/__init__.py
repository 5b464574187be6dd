"""Scheduling policies: one module per policy; policy modules do not import each other."""
