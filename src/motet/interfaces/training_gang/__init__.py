"""The processes of a training on the live cluster: the first one carries its controller."""
