from __future__ import annotations

from motet.transport.backends.spin_policy import SpinPolicy


def failed_spins(policy: SpinPolicy, receives: int) -> int:
    """How many of `receives` spin, if every spin fails."""
    spins = 0
    for _ in range(receives):
        if policy.should_spin():
            spins += 1
            policy.failed()
    return spins


def test_every_receive_spins_while_spinning_succeeds() -> None:
    policy = SpinPolicy()
    for _ in range(100):
        assert policy.should_spin()
        policy.succeeded()


def test_failures_make_spinning_rare() -> None:
    policy = SpinPolicy()
    assert failed_spins(policy, 1000) <= 12
    assert failed_spins(policy, 10_000) <= 41


def test_one_success_resets_the_back_off() -> None:
    policy = SpinPolicy()
    failed_spins(policy, 1000)
    while not policy.should_spin():
        pass
    policy.succeeded()
    assert policy.should_spin()
