"""Protobuf: .proto source or a serialized descriptor in, one schema out.

`process` keeps the compiler, a child process in which `compiler` drives protoc and prints what it
made; `schema` is the value that comes of it; `compatibility` compares two of them. The libraries
for dynamic messages are loaded when a value is first encoded or two schemas are first compared.
"""

from __future__ import annotations

from headrace.schemas.protobuf.compatibility import differences, incompatibilities
from headrace.schemas.protobuf.schema import ProtobufSchema, descriptor_set, parse

__all__ = ["ProtobufSchema", "descriptor_set", "differences", "incompatibilities", "parse"]
