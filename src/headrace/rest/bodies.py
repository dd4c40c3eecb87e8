"""From the bytes of a request to the values in it: bounded in size and time, then decoded.

Every way in which a body can be wrong has its own answer here, so that a route only sees bodies
that have the shape it asked for.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from headrace.rest import errors
from headrace.rest.numbers import DIGITS

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.rest.settings import RestSettings

T = TypeVar("T")
_UNKNOWN_FIELD: Final = re.compile(r"unknown field `(.*?)`")
_OTHER_TYPE: Final = re.compile(rf"base64|got `(?!null`)|{re.escape(DIGITS)}")


async def read_body(request: Request, settings: RestSettings) -> bytes:
    """The whole body: 413 if it is too large, 408 if it takes too long."""
    limit = settings.request_max_bytes
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limit:
        raise errors.too_large(limit)
    timeout_s = settings.request_timeout_ms / 1000
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise errors.too_large(limit)
                chunks.append(chunk)
    except TimeoutError:
        raise errors.too_slow(timeout_s) from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """The value of a body: 400 if it is no JSON, or JSON of other types than the decoder takes.

    422 for what has the right types and is still wrong: a field that is not known, one that is
    missing or null, a number out of its range, an empty list.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        text = str(error)
        unknown = _UNKNOWN_FIELD.search(text)
        if unknown:
            raise errors.invalid_field(f"Unrecognized field: {unknown[1]}") from None
        if _OTHER_TYPE.search(text):
            raise errors.bad_data(text) from None
        raise errors.invalid_field(text) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.malformed(str(error)) from None
    except RecursionError:
        raise errors.malformed("nested too deeply") from None


async def read(request: Request, settings: RestSettings, decoder: msgspec.json.Decoder[T]) -> T:
    """The value of a body that must be there."""
    return decode(decoder, await read_body(request, settings))
