"""The file of users that the HTTP services share.

One user per line, `name: password, role`; `#` begins a comment. What a role means, and whether it
must be there, is the business of the service.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import ConfigError
from headrace.security.passwords import is_well_formed

_MAX_FILE_BYTES: Final = 1 << 20


class FileUser(NamedTuple):
    """A line of the file; `where` is for complaints."""

    name: str
    stored: str
    role: str
    where: str


def read_user_file(path: str) -> dict[str, FileUser]:
    """The users of a file, by name; it is read once."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"authentication.users.file={path!r} cannot be read: {error}") from None
    if len(text) > _MAX_FILE_BYTES:
        raise ConfigError(f"authentication.users.file={path!r} is larger than 1 MiB")
    users = {user.name: user for user in _lines(text, path)}
    if not users:
        raise ConfigError(f"authentication.users.file={path!r} names no user: nobody could sign in")
    return users


def _lines(text: str, path: str) -> Iterator[FileUser]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}, line {number}"
        name, _, rest = line.partition(":")
        stored, comma, role = rest.rpartition(",")
        if not comma:
            stored, role = rest, ""
        if not name.strip() or not is_well_formed(stored.strip()):
            raise ConfigError(
                f"{where}: expected `name: password, role` with what "
                "`python -m headrace.registry.auth` prints as the password, "
                "pbkdf2:rounds:salt:hash, or plain:password for tests"
            )
        yield FileUser(name.strip(), stored.strip(), role.strip().lower(), where)
