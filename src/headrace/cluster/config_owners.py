"""Who may have settings of its own: one line of `OwnerKind` for each kind of owner.

The image keeps settings by owner, `writing` and `following` carry them to and from the tree, and
`layout` finds the node from the owner. None of them knows one kind from another except by what the
table says of it. What the settings mean is not known here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, Self

DEFAULT_ENTITY: Final = "<default>"


class OwnerKind(StrEnum):
    """The kinds by the name of their folder below `/config`, in the order in which they are read.

    `is_any_text`: names are percent-encoded in the tree. The names of topics and brokers need no
    encoding, and those of users, client ids and addresses are paths (see `client_quotas`).
    `is_transient`: an owner without settings has no node, and a new node counts versions from 0.
    """

    is_any_text: bool
    is_transient: bool

    TOPIC = "topics", False, False
    BROKER = "brokers", False, False
    GROUP = "groups", True, True
    CLIENT_METRICS = "client-metrics", True, True
    USER = "users", False, True
    CLIENT_ID = "clients", False, True
    IP = "ips", False, True

    def __new__(cls, folder: str, is_any_text: bool = False, is_transient: bool = False) -> Self:
        kind = str.__new__(cls, folder)
        kind._value_ = folder
        kind.is_any_text = is_any_text
        kind.is_transient = is_transient
        return kind


class ConfigOwner(NamedTuple):
    """Whose settings."""

    kind: OwnerKind
    name: str

    @property
    def parents(self) -> list[ConfigOwner]:
        """Whose nodes must exist before this one's: a client id of a user is below the user."""
        user, *below = self.name.split("/") if self.kind is OwnerKind.USER else [self.name]
        return [ConfigOwner(self.kind, name) for name in (user, f"{user}/clients") if below]

    @property
    def room_below(self) -> ConfigOwner | None:
        """The node that holds the client ids of a user while there are any."""
        is_user = self.kind is OwnerKind.USER and "/" not in self.name
        return ConfigOwner(self.kind, f"{self.name}/clients") if is_user else None


ALL_BROKERS: Final = ConfigOwner(OwnerKind.BROKER, DEFAULT_ENTITY)


def broker_owner(broker_id: int | None) -> ConfigOwner:
    """One broker, or all of them if there is no id."""
    return ALL_BROKERS if broker_id is None else ConfigOwner(OwnerKind.BROKER, str(broker_id))


def topic_owner(name: str) -> ConfigOwner:
    return ConfigOwner(OwnerKind.TOPIC, name)


def group_owner(group: str) -> ConfigOwner:
    """A group may have settings before it has members, and after it has none any more."""
    return ConfigOwner(OwnerKind.GROUP, group)
