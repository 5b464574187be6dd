"""The lanes of a machine's outgoing link, which the processes of several jobs share. Pure.

Large payloads travel in the lane that the request names, replies in that of their request. The
secondary lane is used while no process of the machine sends in the primary one
(`backends.shared_link`). Whatever has no lane is sent at once and delays no other sender.
"""

NO_LANE = 0
PRIMARY = 16
"""Bits of a header's flags, beside those of `framing`."""
SECONDARY = 32
LANES = PRIMARY | SECONDARY
