"""From the bytes of a request to the value in it: bounded in size and time, then decoded."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

import msgspec
from starlette.requests import Request

from headrace.http.faults import BodyTooLarge, BodyTooSlow, NoBody, NotAsDeclared, NotJson


async def read_body(request: Request, *, max_bytes: int, timeout_s: float) -> bytes:
    """The whole body of a request; Starlette raises `ClientDisconnect` if it never comes."""
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > max_bytes:
        raise BodyTooLarge(max_bytes)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in request.stream():
                size += len(chunk)
                if size > max_bytes:
                    raise BodyTooLarge(max_bytes)
                chunks.append(chunk)
    except TimeoutError:
        raise BodyTooSlow(timeout_s) from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def decode(raw: bytes, kind: Any, *, is_strict: bool = True) -> Any:
    """The body as a value of this type."""
    if not raw.strip():
        raise NoBody
    try:
        return _decoder(kind, is_strict).decode(raw)
    except msgspec.ValidationError as error:
        raise NotAsDeclared(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error)) from None
    except RecursionError:
        raise NotJson("nested too deeply") from None


@lru_cache(maxsize=256)
def _decoder(kind: Any, is_strict: bool) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, strict=is_strict)
