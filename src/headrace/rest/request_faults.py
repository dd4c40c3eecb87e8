"""Requests that the HTTP layer rejects, as errors of versions 1 and 2; version 3 has no others."""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import HeadraceError
from headrace.http.endpoint import Endpoint
from headrace.http.faults import BadParameter, NotAsDeclared, RoleNeeded
from headrace.rest import errors
from headrace.rest.errors import RestError
from headrace.rest.numbers import DIGITS

_V3: Final = "/v3/"
_UNKNOWN_FIELD: Final = re.compile(r"unknown field `(.*?)`")
_OTHER_TYPE: Final = re.compile(rf"base64|got `(?!null`)|{re.escape(DIGITS)}")


def rest_error(error: HeadraceError, endpoint: Endpoint | None) -> RestError | None:
    """What to answer; None where the layer's own words will do."""
    if isinstance(error, RestError):
        return error
    if isinstance(error, RoleNeeded):
        return RestError(error.status, errors.KAFKA_AUTHORIZATION, str(error))
    if endpoint is None or endpoint.path.startswith(_V3):
        return None
    if isinstance(error, NotAsDeclared):
        return _not_as_declared(error.reason)
    if isinstance(error, BadParameter):
        kind = next(each.type for each in endpoint.query if each.name == error.name)
        return errors.invalid_field(str(error)) if kind is bool else errors.not_found()
    return None


def _not_as_declared(reason: str) -> RestError:
    """400 for JSON of other types than expected.

    422 for what has the right types and is still wrong: a field that is not known, one that is
    missing or null, a number out of its range, an empty list.
    """
    unknown = _UNKNOWN_FIELD.search(reason)
    if unknown:
        return errors.invalid_field(f"Unrecognized field: {unknown[1]}")
    return errors.bad_data(reason) if _OTHER_TYPE.search(reason) else errors.invalid_field(reason)
