"""Words about a policy of the live cluster that decides no more. Pure."""

from __future__ import annotations


def policy_failure_words(failure: str) -> str:
    """What went wrong, what that means, and what to do; empty: the policy decides."""
    if not failure:
        return ""
    return (
        f"the policy failed: {failure}; jobs run on, but no further one starts until you choose "
        "another with motet policy set"
    )
