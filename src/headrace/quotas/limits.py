"""Which quota holds for whom: the most specific one that is stored, in Kafka's order (KIP-55).

    ORDER  ENTITY                               WHOSE USE COUNTS TOGETHER
    1      user U, client-id C                  U with C
    2      user U, client-id default            U with C
    3      user U                               all clients of U
    4      user default, client-id C            U with C
    5      user default, client-id default      U with C
    6      user default                         all clients of U
    7      client-id C                          all who call themselves C
    8      client-id default                    all who call themselves C

Each kind of quota is looked for on its own: a user with a quota for producing still has the default
one for consuming. An address has its own quota or the default one, and no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Pairs of type and name in the order user, client-id, ip; None is the default of a type."""

# What was found is kept for so many clients; a flood of new ones costs a search each.
_MOST_REMEMBERED: Final = 10_000


class Limit(NamedTuple):
    """How much, and by whom together: user and client id, None where it does not matter."""

    value: float
    owner: tuple[str | None, str | None]


class Limits:
    """All quotas of the cluster, as one broker knows them."""

    def __init__(self, quotas: Iterable[tuple[Entity, Mapping[str, float]]] = ()) -> None:
        self._by_key: dict[str, dict[Entity, float]] = {}
        self._found: dict[tuple[str, str, str], Limit | None] = {}
        for entity, values in quotas:
            self.put(entity, values)

    def put(self, entity: Entity, values: Mapping[str, float]) -> None:
        """All quotas that an entity has from now on."""
        for key, table in list(self._by_key.items()):
            if key not in values and table.pop(entity, None) is not None and not table:
                del self._by_key[key]
        for key, value in values.items():
            self._by_key.setdefault(key, {})[entity] = value
        self._found.clear()

    def __contains__(self, key: str) -> bool:
        """Whether anybody has a quota of this kind."""
        return key in self._by_key

    def find(self, key: str, user: str, client_id: str) -> Limit | None:
        """The quota of this kind that holds for a client; None if it is not limited."""
        table = self._by_key.get(key)
        if table is None:
            return None
        found = self._found
        asked = (key, user, client_id)
        if asked not in found:
            if len(found) >= _MOST_REMEMBERED:
                found.clear()
            found[asked] = _most_specific(table, user, client_id)
        return found[asked]

    def of_address(self, address: str) -> float | None:
        """New connections per second that may come from an address."""
        table = self._by_key.get(CONNECTION_CREATION_RATE)
        if table is None:
            return None
        own = table.get((("ip", address),))
        return table.get((("ip", None),)) if own is None else own


def _most_specific(table: Mapping[Entity, float], user: str, client_id: str) -> Limit | None:
    for of_user in (user, None):
        for of_client in (client_id, None):
            value = table.get((("user", of_user), ("client-id", of_client)))
            if value is not None:
                return Limit(value, (user, client_id))
        value = table.get((("user", of_user),))
        if value is not None:
            return Limit(value, (user, None))
    for of_client in (client_id, None):
        value = table.get((("client-id", of_client),))
        if value is not None:
            return Limit(value, (None, client_id))
    return None
