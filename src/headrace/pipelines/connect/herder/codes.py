"""Faults of Connect as codes of HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from headrace.pipelines.connect.faults import (
    AlreadyExistsException,
    BadRequestException,
    ConnectRestException,
    NotFoundException,
    RebalanceNeededException,
)

_CODES: Final[dict[type[Exception], HTTPStatus]] = {
    BadRequestException: HTTPStatus.BAD_REQUEST,
    NotFoundException: HTTPStatus.NOT_FOUND,
    AlreadyExistsException: HTTPStatus.CONFLICT,
    RebalanceNeededException: HTTPStatus.CONFLICT,
}


def code_of(fault: Exception) -> HTTPStatus:
    """The code with which a fault is answered."""
    if isinstance(fault, ConnectRestException):
        return fault.status
    return _CODES.get(type(fault), HTTPStatus.INTERNAL_SERVER_ERROR)
