"""Bodies: read with a limit and a time-out, decoded strictly, encoded once.

A body that cannot be read is the client's fault, and is told so by a code: 413 too large, 408 too
slow, 400 not JSON or not of the right types, 422 a property that is not known, unless the client
sends `Confluent-Accept-Unknown-Properties: true`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from headrace.registry.errors import RegistryError

Receive = Callable[[], Awaitable[Any]]

_MAX_DEPTH: Final = 64


class Disconnected(Exception):
    """The client went away before its request was complete; nobody is there to be answered."""


async def read_body(
    receive: Receive, headers: Mapping[str, str], *, max_bytes: int, timeout_s: float
) -> bytes:
    """The whole body of a request."""
    if "content-length" not in headers and "transfer-encoding" not in headers:
        return b""
    announced = headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > max_bytes:
        raise _too_large(max_bytes)
    try:
        async with asyncio.timeout(timeout_s):
            return await _read(receive, max_bytes)
    except TimeoutError:
        raise RegistryError(
            408, f"The request was not complete within {timeout_s:g} s: send the whole body"
        ) from None


async def _read(receive: Receive, max_bytes: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk = message.get("body", b"")
        if chunk:
            size += len(chunk)
            if size > max_bytes:
                raise _too_large(max_bytes)
            chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(max_bytes: int) -> RegistryError:
    return RegistryError(
        413, f"The body is larger than {max_bytes} bytes (request.max.bytes of the registry)"
    )


def decode(body: bytes, kind: Any, *, allow_unknown: bool) -> Any:
    """The body as an object of this type."""
    if not body.strip():
        raise RegistryError(422, "The request has no body, where a JSON object is expected")
    try:
        raw = msgspec.json.decode(body)
        if not allow_unknown:
            _refuse_unknown(raw, kind, _MAX_DEPTH)
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise RegistryError(400, f"Cannot read the body: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegistryError(400, f"The body is not JSON: {error}") from None
    except RecursionError:
        raise RegistryError(400, "The body nests too deeply") from None


def _refuse_unknown(value: object, kind: Any, depth: int) -> None:
    """422 for a property that is not one of the type's, at any depth."""
    if depth == 0:
        raise RegistryError(400, "The body nests too deeply")
    struct, element = _shape(kind)
    if isinstance(value, list) and element is not None:
        for each in value:
            _refuse_unknown(each, element, depth - 1)
    elif isinstance(value, dict) and struct is not None:
        fields = _fields(struct)
        for name, each in value.items():
            if name not in fields:
                raise RegistryError(422, f"Unrecognized field: {name}")
            _refuse_unknown(each, fields[name], depth - 1)


@lru_cache(maxsize=256)
def _shape(kind: Any) -> tuple[Any, Any]:
    """The struct among the alternatives of a type, and the type of a list's elements."""
    alternatives = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    struct = element = None
    for each in alternatives:
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            struct = each
        elif get_origin(each) is list:
            (element,) = get_args(each)
    return struct, element


@lru_cache(maxsize=256)
def _fields(struct: Any) -> dict[str, Any]:
    hints = get_type_hints(struct)
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return {encoded: hints[name] for encoded, name in names}


def encode(reply: object, *, is_raw: bool) -> bytes:
    """The bytes of an answer."""
    if is_raw:
        return str(reply).encode("utf-8", "surrogatepass")
    return msgspec.json.encode(reply)


def encode_error(error: RegistryError) -> bytes:
    """The body that every error has."""
    return msgspec.json.encode({"error_code": error.error_code, "message": error.message})
