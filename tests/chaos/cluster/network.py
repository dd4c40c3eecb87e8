"""Where the nodes of a cluster live, and the ways in which their network can fail.

Two networks offer the same: namespaces (`namespaces`), where packets are lost as on a cut cable,
and loopback addresses with a relay before each (`relays`), for machines where namespaces are not
permitted. A cut has a direction: what `source` sends no longer reaches `target`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

CLIENTS = "clients"  # the node on which clients and the nemesis itself live


class Door(NamedTuple):
    """One port of a node: where its process listens, and how everyone else gets there."""

    listen: str
    reach: str


class Network(Protocol):
    @property
    def name(self) -> str: ...

    def join(self, node: str, ports: int) -> list[Door]:
        """Make a place for a node with so many ports."""
        ...

    def command(self, node: str, command: Sequence[str]) -> list[str]:
        """How the command is run so that it lives at the node's place."""
        ...

    def settle(self, node: str, pid: int) -> None:
        """The node's process is this one from now on."""
        ...

    def cut(self, source: str, target: str) -> None: ...

    def slow(self, node: str) -> None:
        """Make everything that the node sends slow."""
        ...

    def heal(self) -> None:
        """Undo every cut and all slowness."""
        ...

    def close(self) -> None: ...


def choose_network(kind: str = "auto") -> Network:
    """Namespaces where they are permitted, relays elsewhere; or the one that is named."""
    from tests.chaos.cluster.namespaces import NamespaceNetwork, namespaces_are_permitted
    from tests.chaos.cluster.relays import RelayNetwork

    if kind == "namespaces" or (kind == "auto" and namespaces_are_permitted()):
        return NamespaceNetwork()
    return RelayNetwork()
