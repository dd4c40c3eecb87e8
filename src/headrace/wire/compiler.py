"""From (message class, version) to its compiled encoder and decoder, made on first use.

A broker's usual clients touch a few dozen of the thousands of possible functions; each costs about
a millisecond to compile and is kept on the message class.
"""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.errors import ClientFault, Error
from headrace.types import Buffer

from .decoding import write_decoder
from .encoding import write_encoder
from .faults import MalformedMessage
from .schema import Decoder, Encoder, MessageInfo, info

M = TypeVar("M")


def encoder(cls: type, version: int) -> Encoder:
    """The function that turns a message into the chunks of one gathering write."""
    message = info(cls)
    known = message.encoders.get(version)
    if known is None:
        check_version(message, version)
        source = write_encoder(cls, version)
        known = message.encoders[version] = source.build(
            "encode", f"encode {message.name} v{version}"
        )
    return known


def decoder(cls: type, version: int) -> Decoder:
    """The function that reads a message at a position: `decode(buf, pos, memoryview(buf))`.

    It returns the message and the position behind it, and raises `MalformedMessage` only.
    """
    message = info(cls)
    known = message.decoders.get(version)
    if known is None:
        check_version(message, version)
        source = write_decoder(cls, version)
        known = message.decoders[version] = source.build(
            "decode", f"decode {message.name} v{version}"
        )
    return known


def check_version(message: MessageInfo, version: int) -> None:
    """Refuse a version that was never declared."""
    if version not in message.versions:
        first, last = message.versions[0], message.versions[-1]
        raise ClientFault(
            Error.UNSUPPORTED_VERSION,
            f"{message.name} v{version} is not supported; versions {first} to {last} are",
        )


def encode(msg: Any, version: int) -> list[Buffer]:
    """A message as chunks; each `Records` value is a chunk of its own, the rest is joined."""
    return encoder(type(msg), version)(msg)


def encode_bytes(msg: Any, version: int) -> bytes:
    """A message as one piece of bytes."""
    return b"".join(encoder(type(msg), version)(msg))


def decode(cls: type[M], version: int, buf: bytes | bytearray, pos: int = 0) -> M:
    """The message that fills the buffer from `pos` to its end.

    `Records` fields are views of `buf`: they keep it alive, and it must not change under them.
    """
    msg: M
    msg, end = decoder(cls, version)(buf, pos, memoryview(buf))
    if end != len(buf):
        raise MalformedMessage(info(cls).name, version, f"{len(buf) - end} bytes follow its end")
    return msg
