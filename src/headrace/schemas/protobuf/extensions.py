"""A schema without extensions: no `extend`, and no options but those that Protobuf itself has."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2

from headrace.schemas.protobuf.printer import print_file


def print_without_extensions(files: list[Any]) -> str:
    """The text of the last of `files`, without them."""
    file = descriptor_pb2.FileDescriptorProto()
    file.CopyFrom(files[-1])
    # To the general library, which has never seen the schema's imports, options that somebody
    # defined are unknown fields.
    file.DiscardUnknownFields()
    del file.extension[:]
    pending = list(file.message_type)
    while pending:
        message = pending.pop()
        del message.extension[:]
        pending += message.nested_type
    return print_file(file, [file])
