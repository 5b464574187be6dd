from __future__ import annotations

from motet.transport.backends.spin_policy import Patience


def looks(patience: Patience, count: int) -> int:
    """How often of `count` waits it looked, finding nothing."""
    tries = 0
    for _ in range(count):
        if patience.is_worthwhile():
            tries += 1
            patience.gave_up()
    return tries


def test_looking_goes_on_while_it_pays() -> None:
    patience = Patience()
    for _ in range(100):
        assert patience.is_worthwhile()
        patience.found()


def test_looking_in_vain_soon_becomes_rare() -> None:
    patience = Patience()
    assert looks(patience, 1000) <= 12
    assert looks(patience, 10_000) <= 41


def test_one_success_restores_patience() -> None:
    patience = Patience()
    looks(patience, 1000)
    while not patience.is_worthwhile():
        pass
    patience.found()
    assert patience.is_worthwhile()
