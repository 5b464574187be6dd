"""Which machines host which roles at first."""

from __future__ import annotations

from motet.runtime.elastic.role_placement import RolePlacement


def test_workers_begin_at_the_first_machine_and_servers_at_the_last() -> None:
    roles = RolePlacement.spread(machines=5, workers=2, servers=2)
    assert (roles.workers, roles.servers) == ((0, 1), (3, 4))
    assert roles.executors == [0, 1, 3, 4]


def test_roles_share_machines_where_there_are_too_few() -> None:
    roles = RolePlacement.spread(machines=3, workers=2, servers=2)
    assert (roles.workers, roles.servers) == ((0, 1), (1, 2))
    assert roles.executors == [0, 1, 2]
