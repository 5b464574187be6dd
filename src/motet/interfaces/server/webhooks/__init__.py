"""Delivery of webhooks, and their routes."""
