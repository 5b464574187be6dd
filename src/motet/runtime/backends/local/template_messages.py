"""Messages on the socket between a template process and the process that started it."""

from __future__ import annotations

from typing import Literal

MAX_MESSAGE_BYTES = 1 << 12
TemplateRequest = tuple[Literal["fork"], int, bytes] | tuple[Literal["preload"], str]
"""An executor's number and secret, or an application as "module:Class"."""
TemplateAnswer = tuple[int, str]
"""To "fork": the number of the process, which comes with its pidfd; or 0 and why there is none."""
