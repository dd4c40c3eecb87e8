"""The Kafka protocol: bytes to messages and back.

Messages are declared in `wire.messages`, one module per API and one class for all versions, and
compiled per version on first use. `wire.header` adds the headers, `wire.frame` cuts a stream into
frames, `wire.registry` finds an API by its key. This room knows no sockets and no meaning: it does
not judge whether a request makes sense, only whether it is one.
"""

from __future__ import annotations

from .compiler import decode, decoder, encode, encode_bytes, encoder
from .faults import MalformedMessage, UnencodableMessage

__all__ = [
    "MalformedMessage",
    "UnencodableMessage",
    "decode",
    "decoder",
    "encode",
    "encode_bytes",
    "encoder",
]
