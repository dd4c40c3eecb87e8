"""Descriptor sets, as `protoc --include_imports --descriptor_set_out=…` writes them."""

from __future__ import annotations

from pathlib import Path

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from headrace.errors import ConfigError

_WELL_KNOWN = (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)


def read_descriptor_set(path: str | None, binary: bytes | None) -> bytes:
    """The bytes of a descriptor set that is given as a file or as bytes."""
    if binary is not None:
        return bytes(binary)
    if path is None:
        raise ConfigError(
            "a descriptor set is needed: descFilePath names the file that "
            "`protoc --include_imports --descriptor_set_out=FILE x.proto` writes, "
            "binaryDescriptorSet takes its bytes; classes in jars cannot be used here"
        )
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"the descriptor set {path} cannot be read: {error.strerror}") from None


def find_message(descriptor_set: bytes, name: str) -> Descriptor:
    """The message of this full name, or of this name if only one has it."""
    files = _files(descriptor_set)
    pool = DescriptorPool()
    added: set[str] = set()

    def add(file_name: str) -> None:
        if file_name in added:
            return
        added.add(file_name)
        if file_name not in files:
            raise ConfigError(
                f"the descriptor set lacks {file_name}, which it imports: "
                "write it with protoc --include_imports"
            )
        for imported in files[file_name].dependency:
            add(imported)
        pool.Add(files[file_name])

    try:
        for file_name in list(files):
            add(file_name)
        found = [
            pool.FindMessageTypeByName(full)
            for each in files.values()
            for full in _message_names(each.message_type, each.package)
            if name in (full, full.rpartition(".")[2])
        ]
    except (TypeError, KeyError) as error:
        raise ConfigError(f"the descriptor set is not consistent: {error}") from None
    exact = [each for each in found if each.full_name == name]
    if len(exact or found) != 1:
        several = f"; several have it: {', '.join(sorted(each.full_name for each in found))}"
        raise ConfigError(
            f"not exactly one message of the descriptor set is named {name}"
            + (several if found else "")
        )
    return (exact or found)[0]


def _files(descriptor_set: bytes) -> dict[str, descriptor_pb2.FileDescriptorProto]:
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file
    except DecodeError:
        raise ConfigError(
            "the bytes are not a descriptor set: it is what protoc writes with "
            "--descriptor_set_out, not the .proto file itself"
        ) from None
    known = {each.name: each for each in files}
    for module in _WELL_KNOWN:
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        known.setdefault(file.name, file)
    return known


def _message_names(messages: list[descriptor_pb2.DescriptorProto], prefix: str) -> list[str]:
    names = []
    for message in messages:
        full = f"{prefix}.{message.name}" if prefix else message.name
        names.append(full)
        names += _message_names(list(message.nested_type), full)
    return names
