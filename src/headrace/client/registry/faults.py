"""What can go wrong between a client and a Schema Registry."""

from __future__ import annotations

from headrace.errors import HeadraceError


class RegistryUnreachable(HeadraceError):
    """None of the registry's addresses answered; the text has a reason for each."""


class RegistryRefused(HeadraceError):
    """The registry answered with an error: its HTTP status, its code and its sentence."""

    def __init__(self, http_status: int, error_code: int, message: str) -> None:
        super().__init__(f"Schema Registry answers {error_code}: {message}")
        self.http_status = http_status
        self.error_code = error_code
        self.message = message
