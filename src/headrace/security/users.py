"""Users of the HTTP services: the file that names them, and what their roles allow.

One user per line, `name: password, role`; `#` begins a comment. Each role includes those before it:

    ROLE        SCHEMA REGISTRY                            REST PROXY
    read-only   read, look up, check                       read topics, groups, settings; consume
    developer   register, delete softly                    produce
    admin       levels, modes, permanent deletion, keys    topics, settings, ACLs, groups

Consuming is not without effect: as READ on a group does in Kafka, it lets a read-only user join any
group, which takes partitions from its other members, and commit offsets for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import ConfigError
from headrace.security.passwords import is_well_formed

_MAX_FILE_BYTES: Final = 1 << 20


class Role(IntEnum):
    """Ordered: each may do what those before it may."""

    READ_ONLY = 0
    DEVELOPER = 1
    ADMIN = 2

    @property
    def label(self) -> str:
        """The name of the role in the file."""
        return self.name.lower().replace("_", "-")


ROLE_NAMES: Final[Mapping[str, Role]] = {
    "read-only": Role.READ_ONLY,
    "readonly": Role.READ_ONLY,
    "developer": Role.DEVELOPER,
    "admin": Role.ADMIN,
}


class User(NamedTuple):
    """A line of the file."""

    name: str
    stored: str
    role: Role


def roles_of(name: str, text: str) -> tuple[Role, ...]:
    """The roles that a setting names; `*` is all of them."""
    if text in ("*", "**"):
        return tuple(Role)
    parts = [part.strip().lower() for part in text.split(",") if part.strip()]
    if not parts or not ROLE_NAMES.keys() >= set(parts):
        raise ConfigError(f"{name}={text!r}: allowed are *, or some of admin, developer, read-only")
    return tuple(ROLE_NAMES[part] for part in parts)


def read_users(path: str, roles: Collection[Role] = tuple(Role)) -> dict[str, User]:
    """The users of a file that have one of these roles, by name; it is read once."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"authentication.users.file={path!r} cannot be read: {error}") from None
    if len(text) > _MAX_FILE_BYTES:
        raise ConfigError(f"authentication.users.file={path!r} is larger than 1 MiB")
    users = {user.name: user for user in _lines(text, path)}
    if not users:
        raise ConfigError(
            f"authentication.users.file={path!r} names no user: add lines `name: password, role`"
        )
    return {name: user for name, user in users.items() if user.role in roles}


def _lines(text: str, path: str) -> Iterator[User]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}, line {number}"
        name, _, rest = line.partition(":")
        stored, comma, label = rest.rpartition(",")
        role = ROLE_NAMES.get(label.strip().lower()) if comma else None
        if not name.strip() or not is_well_formed((stored if comma else rest).strip()):
            raise ConfigError(
                f"{where}: expected `name: password, role` with what "
                "`python -m headrace.registry.auth` prints as the password, "
                "pbkdf2:rounds:salt:hash, or plain:password for tests"
            )
        if role is None:
            raise ConfigError(
                f"{where}: expected `name: password, role` with one of the roles "
                "admin, developer, read-only"
            )
        yield User(name.strip(), stored.strip(), role)
