"""The launcher of a Ray cluster: a process that holds the connection to Ray, and may be restarted.

On every machine a detached actor keeps that machine's launcher; gangs are reserved as placement
groups.
"""
