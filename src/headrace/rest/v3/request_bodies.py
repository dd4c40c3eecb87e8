"""Reading what a request says: its JSON body into a typed struct, its query into plain values.

Whatever is wrong with it is a 400 (or 413, 415) that names the place and what is allowed.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from starlette.requests import HTTPConnection, Request

from headrace.rest.bodies import read_body
from headrace.rest.errors import RestError
from headrace.rest.v3 import faults
from headrace.rest.v3.access import proxy_of

T = TypeVar("T")

_TRUE: Final = {"true": True, "false": False}


def check_media_type(request: Request) -> None:
    """415 for a body that is not declared to be JSON."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != "application/json" and not stated.endswith("+json"):
        what = f"the body is {stated!r}" if stated else "the request has no Content-Type"
        raise RestError(415, 415, f"{what}: only application/json is understood here")


async def read_json(request: Request, kind: type[T], *, strict: bool = False) -> T:
    """The body as this struct; its size and the time it takes are bounded by the settings.

    Unless `strict`, numbers and flags may be written as strings.
    """
    check_media_type(request)
    return decode(await read_body(request, proxy_of(request).settings), kind, strict=strict)


def decode(data: bytes | bytearray | memoryview, kind: type[T], *, strict: bool) -> T:
    if not data:
        raise faults.bad_request("the request has no body: a JSON object is required")
    try:
        return msgspec.json.decode(data, type=kind, strict=strict)
    except msgspec.ValidationError as error:
        raise faults.bad_request(f"the body is not as required: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise faults.bad_request(f"the body is not valid JSON: {error}") from None


def query_flag(request: HTTPConnection, name: str) -> bool:
    text = request.query_params.get(name, "false").lower()
    if text not in _TRUE:
        raise faults.bad_request(f"{name}={text!r}: allowed are true and false")
    return _TRUE[text]


def query_int(
    request: HTTPConnection, name: str, default: int, *, least: int = 0, most: int = (1 << 63) - 1
) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 19:
        raise faults.bad_request(f"{name}={text!r} is not a number")
    number = int(text)
    if not least <= number <= most:
        raise faults.bad_request(f"{name}={number}: allowed is {least} to {most}")
    return number
