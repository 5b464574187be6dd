"""A call of a policy."""

from __future__ import annotations

from motet.domain.decision import Decision
from motet.domain.errors import MotetError
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.engine.policy_loading.faults import fault


def ask(policy: Policy, snapshot: Snapshot) -> Decision:
    """Call the policy. Errors in a user's policy file, including sys.exit(), name the line."""
    try:
        return policy.decide(snapshot)
    except MotetError:
        raise
    except (Exception, SystemExit) as error:
        found = fault(error, type(policy))
        if found is None:
            raise
        raise found from error
