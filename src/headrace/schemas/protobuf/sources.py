"""From the texts of a request to the descriptor and the text of a schema.

A text is .proto source, or base64 of a serialized FileDescriptorProto, which is how some clients
register. The latter is printed as source first, so that everything behind this point has gone
through protoc, and a schema is the same whichever way it came.
"""

from __future__ import annotations

import base64
import binascii
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

from headrace.schemas.model import InvalidSchema
from headrace.schemas.protobuf.descriptors import build_pool
from headrace.schemas.protobuf.normalization import normalize
from headrace.schemas.protobuf.printer import print_file
from headrace.schemas.protobuf.tolerance import compile_tolerantly
from headrace.schemas.protobuf.unknown_options import discard

MAX_FILES: Final = 1_000
MAX_NAME_BYTES: Final = 1_000
MAX_SEGMENT_BYTES: Final = 200

_MAIN: Final = "default.proto"
_ENTRY: Final = "headrace_map_entry"
_MAP_ENTRY: Final = re.compile(
    r"""(?P<other>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/)"""
    r"|\boption\s+map_entry\s*=\s*true\s*;",
    re.DOTALL,
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_GOOGLES_OWN: Final = "google/protobuf/"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schema as its compiler leaves it."""

    descriptor_set: bytes
    text: str
    normalized: str


def compile_source(text: str, imports: Sequence[tuple[str, str]], folder: Path) -> Compiled:
    """Compile a text that may import the named ones, each of which follows what it needs."""
    if not text.strip():
        raise InvalidSchema("the schema is empty")
    if len(imports) > MAX_FILES:
        raise InvalidSchema(f"{len(imports)} references are too many; at most {MAX_FILES} are read")
    work = folder / "request"
    work.mkdir()
    try:
        for name, source in imports:
            _write_import(name, source, work)
        main = _free_name(work)
        (work / main).write_text(_as_source(text, work), "utf-8", newline="")
        files = compile_tolerantly(main, work, _check_name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text, normalized = print_file(files[-1], files), print_file(normalize(files[-1]), files)
    descriptor_set = descriptor_pb2.FileDescriptorSet(file=files)
    discard(descriptor_set)
    return Compiled(descriptor_set.SerializeToString(), text, normalized)


def _write_import(name: str, source: str, work: Path) -> None:
    # The files that protoc itself brings are the only true ones under their names, and a name
    # that comes twice (through two paths of references) keeps its first meaning.
    _check_name(name)
    path = work / name
    if name.startswith(_GOOGLES_OWN) or path.is_file():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_as_source(source, work), "utf-8", newline="")
    except OSError as error:
        reason = error.strerror
        raise InvalidSchema(f'"{name}" cannot be the name of an import: {reason}') from None
    except InvalidSchema as error:
        raise InvalidSchema(f'the reference "{name}": {error}') from None


def _check_name(name: str) -> None:
    """The name of an import becomes the name of a file, and must stay below our folder."""
    segments = name.split("/")
    if (
        len(name.encode()) > MAX_NAME_BYTES
        or any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in segments)
        or any(segment.startswith(".") or not segment for segment in segments)
        or not name.isprintable()
        or "\\" in name
    ):
        raise InvalidSchema(
            f'"{name[:100]}" cannot be the name of an import: it must be a relative path of plain '
            "segments, such as common/address.proto"
        )


def _free_name(work: Path) -> str:
    name, number = _MAIN, 0
    while (work / name).exists():
        number += 1
        name = f"default{number}.proto"
    return name


def _as_source(text: str, work: Path) -> str:
    """Source that protoc takes: the text itself, or what prints the descriptor that it encodes."""
    if _BASE64.fullmatch(text) is None:
        return _with_map_fields(text, work) if "map_entry" in text else text
    try:
        serialized = base64.b64decode("".join(text.split()), validate=True)
        file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
    except (binascii.Error, DecodeError):
        raise InvalidSchema(
            "the text is neither .proto source nor base64 of a serialized FileDescriptorProto"
        ) from None
    discard(file)
    names = [name for name in file.dependency if '"' not in name]
    imports = "".join(f'import "{name}";\n' for name in names)
    known = _compiled(f'syntax = "proto3";\n{imports}', work)
    return _printed([*known[:-1], file])


def _with_map_fields(text: str, work: Path) -> str:
    """Source with `map<…>` where it spells out a map's entries.

    Confluent's Java client prints descriptors so, with `option map_entry = true`, which protoc
    refuses to read. A reserved name takes the option's place until there is a descriptor.
    """
    reserved = _ENTRY if re.search(r"\bedition\s*=", text) else f'"{_ENTRY}"'
    marked = _MAP_ENTRY.sub(lambda match: match["other"] or f"reserved {reserved};", text)
    if marked == text:
        return text
    files = _compiled(marked, work)
    pending = list(files[-1].message_type)
    while pending:
        message = pending.pop()
        if _ENTRY in message.reserved_name:
            message.reserved_name.remove(_ENTRY)
            message.options.map_entry = True
        pending += message.nested_type
    return _printed(files)


def _printed(files: list[Any]) -> str:
    # What is printed must mean what was given, so the names in it have to be names.
    build_pool(files)
    return print_file(files[-1], files)


def _compiled(source: str, work: Path) -> list[Any]:
    """The descriptors of a source and, before it, of all that it imports."""
    path = work / _free_name(work)
    path.write_text(source, "utf-8", newline="")
    try:
        return compile_tolerantly(path.name, work, _check_name)
    finally:
        path.unlink()
