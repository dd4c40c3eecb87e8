"""A compiled schema's descriptors: files, the pool of their messages, and message indexes.

A record says which message of its schema it holds by a path of indexes: the number of the message
in its file, then of the nested message in that one, and so on. Every client counts as descriptors
do, so the entries of maps, which are nested messages too, are counted, though nobody names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def read_files(descriptor_set: bytes) -> list[Any]:
    """The FileDescriptorProtos of a set; the schema itself is the last, its imports come before."""
    from google.protobuf import descriptor_pb2

    return list(descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file)


def without_empty_imports(files: list[Any]) -> Any:
    """The last of `files` for a reader who has its references, but not what the registry lacks.

    A file that defines nothing stands for an import that was not found; a pool without it would
    reject the schema.
    """
    empty = {each.name for each in files if not _defines_something(each)}
    file = type(files[-1])()
    file.CopyFrom(files[-1])
    kept = [name for name in file.dependency if name not in empty]
    for numbers in (file.public_dependency, file.weak_dependency):
        names = [file.dependency[number] for number in numbers]
        numbers[:] = [kept.index(name) for name in names if name in kept]
    file.dependency[:] = kept
    file.option_dependency[:] = [name for name in file.option_dependency if name not in empty]
    return file


def _defines_something(file: Any) -> bool:
    defined = (file.message_type, file.enum_type, file.extension, file.service, file.dependency)
    return any(len(each) > 0 for each in defined)


def build_pool(files: list[Any]) -> Any:
    """A pool in which all messages of these files can be found."""
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for each in files:
        pool.Add(each)
    return pool


def message_indexes(file: Any) -> dict[str, tuple[int, ...]]:
    """The full name of each message of a file with its path of indexes, in the file's order."""
    return dict(_walk(file.message_type, f"{file.package}." if file.package else "", ()))


def _walk(
    messages: list[Any], prefix: str, above: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for index, message in enumerate(messages):
        if not message.options.map_entry:
            yield prefix + message.name, (*above, index)
            yield from _walk(message.nested_type, f"{prefix}{message.name}.", (*above, index))
