"""Executors as members of a gang whose processes something else has started: they meet in a folder.

Every member keeps one executor process, which joins the controller; one of the members carries the
controller itself.
"""
