"""What can go wrong between bytes and messages, sorted by blame.

Bytes that do not follow the protocol are the sender's fault (`MalformedMessage`); a message that
its version cannot express is ours (`UnencodableMessage`).
"""

from __future__ import annotations

import struct

from headrace.errors import ClientFault, Error, HeadraceError


class MalformedMessage(ClientFault):
    """The bytes are not a message of this API and version."""

    def __init__(self, name: str, version: int | None, cause: str) -> None:
        where = name if version is None else f"{name} v{version}"
        super().__init__(Error.INVALID_REQUEST, f"malformed {where}: {cause}")
        self.name = name
        self.version = version


def malformed(name: str, version: int | None, fault: Exception | None) -> MalformedMessage:
    """The error for what a decoder stumbled over; no fault means that the bytes ran out."""
    if fault is None or isinstance(fault, (IndexError, struct.error)):
        return MalformedMessage(name, version, "it ends too early")
    return MalformedMessage(name, version, str(fault))


class UnencodableMessage(HeadraceError):
    """The message holds a value that this version cannot carry."""

    def __init__(self, name: str, version: int, cause: str) -> None:
        super().__init__(f"cannot encode {name} v{version}: {cause}")
        self.name = name
        self.version = version
