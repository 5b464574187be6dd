"""The launcher: a process that starts, watches and stops the gangs of attempts.

The master may restart it at any time: shepherds keep running and the next launcher adopts them.
"""
