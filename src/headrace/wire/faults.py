"""What can go wrong between bytes and messages, sorted by blame.

Bytes that do not follow the protocol are the sender's fault (`MalformedMessage`); a message that
its version cannot express is ours (`UnencodableMessage`).
"""

from __future__ import annotations

from headrace.errors import ClientFault, Error, HeadraceError


class MalformedMessage(ClientFault):
    """The bytes are not a message of this API and version."""

    def __init__(self, name: str, version: int | None, cause: str) -> None:
        where = name if version is None else f"{name} v{version}"
        super().__init__(Error.INVALID_REQUEST, f"malformed {where}: {cause}")
        self.name = name
        self.version = version


class UnencodableMessage(HeadraceError):
    """The message holds a value that this version cannot carry."""

    def __init__(self, name: str, version: int, cause: str) -> None:
        super().__init__(f"cannot encode {name} v{version}: {cause}")
        self.name = name
        self.version = version
