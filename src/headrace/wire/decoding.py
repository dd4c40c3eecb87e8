"""Writes the source of a decoder: straight-line Python that turns bytes into one message version.

What makes the result fast, and safe against any input:

- a run of fixed fields is one `unpack_from` straight into the slots of a bare object, and the
  first byte of the length, count or tag buffer behind it rides along;
- the one-byte varint, nearly every one, is read in place;
- slices never raise, so the end of the buffer is checked once, at the end. That suffices because
  positions only grow: negative lengths are refused where they are read, and any read behind the
  end of the buffer raises;
- a count is believed only if the bytes left could hold that many items, so a lie costs nothing;
- a request may hold a hundred thousand items and no more, and so may data, because an item of two
  bytes on the wire is an object of a hundred in memory. Responses come from brokers of our own
  choice and have no limit.

The compiled function is `decode(buf, pos, view)`, where `view` is a memoryview of `buf`; it
returns the message and the position behind it, or raises `MalformedMessage` and nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from headrace.types import ZERO_UUID

from . import primitives
from .faults import malformed
from .schema import FieldSpec, fields_of, info
from .source import Source
from .types import UUID_KIND, Blob, Fixed, Kind, Text

_NAMES: Final[dict[str, Any]] = {
    "DECODE_FAULTS": primitives.DECODE_FAULTS,
    "MAX_REQUEST_ITEMS": primitives.MAX_REQUEST_ITEMS,
    "ZERO_UUID": ZERO_UUID,
    "keep_tag": primitives.keep_tag,
    "keep_tags": primitives.keep_tags,
    "malformed": malformed,
    "new": object.__new__,
    "read_tag": primitives.read_tag,
    "refuse_count": primitives.refuse_count,
    "refuse_items": primitives.refuse_items,
    "refuse_length": primitives.refuse_length,
    "refuse_null": primitives.refuse_null,
    "refuse_tag_size": primitives.refuse_tag_size,
    "text_tail": primitives.text_tail,
    "unpack_from": struct.unpack_from,
    "uuid_of": primitives.uuid_of,
    "uvarint_tail": primitives.uvarint_tail,
}


def write_decoder(cls: type, version: int) -> Source:
    """The source of `decode` for one version of a message."""
    return _DecoderWriter(cls, version).write()


class _DecoderWriter:
    def __init__(self, cls: type, version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= info(cls).flexible
        self.is_strict = info(cls).is_strict
        self.source = Source(_NAMES)
        # Values of constant size that are read next, as (struct code, assignment target).
        self.run: list[tuple[str, str]] = []

    def write(self) -> Source:
        line, name = self.source, repr(self.cls.__name__)
        with line.block("def decode(buf, pos, view):"):
            line("limit = len(buf)")
            if self.is_strict:
                line("room = MAX_REQUEST_ITEMS")
            with line.block("try:"):
                self.struct(self.cls, "msg")
            with line.block("except DECODE_FAULTS as fault:"):
                line(f"raise malformed({name}, {self.version}, fault) from fault")
            with line.block("if pos > limit:"):
                line(f"raise malformed({name}, {self.version}, None)")
            line("return msg, pos")
        return line

    def struct(self, cls: type, target: str) -> None:
        """Read one struct into a variable; leaves nothing pending."""
        line = self.source
        line(f"{target} = new({line.bind(cls.__name__, cls)})")
        present = [field for field in fields_of(cls) if field.present(self.version)]
        for field in fields_of(cls):
            if field.tag is not None or not field.present(self.version):
                line(f"{target}.{field.name} = {self.default(field)}")
        line(f"{target}.unknown_tags = None")
        for field in present:
            if field.tag is None:
                self.field(field, f"{target}.{field.name}")
        if self.flexible:
            self.tags([field for field in present if field.tag is not None], target)
        self.flush()

    def default(self, field: FieldSpec) -> str:
        return "[]" if isinstance(field.default, list) else self.source.constant(field.default)

    def field(self, field: FieldSpec, target: str) -> None:
        """Read one field, or leave it pending when it is of constant size."""
        if field.is_array:
            self.array(field, target)
        elif isinstance(field.kind, Fixed):
            self.run.append((field.kind.code, target))
        elif isinstance(field.kind, type):
            self.nested(field, field.kind, target)
        else:
            self.sized(field, field.kind, target)

    def flush(self) -> None:
        """Read what is pending with one call."""
        if not self.run:
            return
        line = self.source
        codes = "".join(code for code, _ in self.run)
        targets = [target for _, target in self.run]
        if codes == "B":
            line(f"{targets[0]} = buf[pos]")
        else:
            comma = "," if len(targets) == 1 else ""
            line(f"{', '.join(targets)}{comma} = {line.unpacker(codes)}(buf, pos)")
        line(f"pos += {struct.calcsize('>' + codes)}")
        for code, target in self.run:
            if code == UUID_KIND.code:
                line(f"{target} = uuid_of({target})")
        self.run.clear()

    def length(self, hint: str, legacy_code: str) -> tuple[str, str]:
        """Read a length or count: the variable as read, and the expression of the true number."""
        read = self.source.fresh(hint)
        self.run.append(("B" if self.flexible else legacy_code, read))
        self.flush()
        if not self.flexible:
            return read, read
        tail = "text_tail" if legacy_code == "h" else "uvarint_tail"
        self.source(f"if {read} > 127: {read}, pos = {tail}(buf, pos, {read})")
        return read, f"{read} - 1"

    @contextmanager
    def unless_null(self, field: FieldSpec, read: str, target: str) -> Iterator[None]:
        """Handle a null; what is written inside the `with` handles everything else."""
        line = self.source
        is_null = f"not {read}" if self.flexible else f"{read} < 0"
        if not field.nullable(self.version):
            line(f"if {is_null}: refuse_null({field.name!r})")
            yield
            return
        with line.block(f"if {is_null}:"):
            if not self.flexible:
                line(f"if {read} != -1: refuse_length({field.name!r}, {read})")
            line(f"{target} = None")
        with line.block("else:"):
            yield

    def sized(self, field: FieldSpec, kind: Text | Blob, target: str) -> None:
        """Read a string, bytes or records."""
        line = self.source
        read, size = self.length("size", "h" if isinstance(kind, Text) else "i")
        with self.unless_null(field, read, target):
            line(f"end = pos + {size}")
            if isinstance(kind, Text):
                line(f"{target} = buf[pos:end].decode()")
            else:
                line(f"{target} = {'view[pos:end]' if kind.is_view else 'bytes(view[pos:end])'}")
            line("pos = end")

    def nested(self, field: FieldSpec, cls: type, target: str) -> None:
        """Read a struct inside a struct; a marker leads it when it may be null."""
        line, item = self.source, self.source.fresh(field.name)
        if not field.nullable(self.version):
            self.flush()
            self.struct(cls, item)
        else:
            marker = line.fresh("marker")
            self.run.append(("b", marker))
            self.flush()
            with line.block(f"if {marker} {'<' if field.tag is None else '<='} 0:"):
                line(f"{item} = None")
            with line.block("else:"):
                self.struct(cls, item)
        line(f"{target} = {item}")

    def array(self, field: FieldSpec, target: str) -> None:
        line = self.source
        read, count = self.length("count", "i")
        with self.unless_null(field, read, target):
            least = min_size(field.kind, self.version, self.flexible)
            needed = count if least == 1 else f"({count}) * {least}"
            line(f"if {needed} > limit - pos: refuse_count({field.name!r}, {count}, limit - pos)")
            self.take_room(count)
            if isinstance(field.kind, Fixed) and field.kind is not UUID_KIND:
                line(f"{target} = [*unpack_from(f'>{{{count}}}{field.kind.code}', buf, pos)]")
                line(f"pos += {needed}")
                return
            items, item = line.fresh("items"), line.fresh(field.name)
            line(f"{target} = {items} = []")
            with line.block(f"for _ in range({count}):"):
                if isinstance(field.kind, type):
                    self.struct(field.kind, item)
                else:
                    self.field(field.item(), item)
                    self.flush()
                line(f"{items}.append({item})")

    def take_room(self, count: str) -> None:
        if self.is_strict:
            self.source(f"room -= {count}")
            self.source("if room < 0: refuse_items()")

    def tags(self, known: list[FieldSpec], target: str) -> None:
        """Read the tag buffer that closes every struct of a flexible version."""
        line, count, end = self.source, self.source.fresh("tags"), self.source.fresh("end")
        self.run.append(("B", count))
        self.flush()
        with line.block(f"if {count}:"):
            line(f"if {count} > 127: {count}, pos = uvarint_tail(buf, pos, {count})")
            self.take_room(count)
            if not known:
                line(f"pos = keep_tags({target}, {count}, buf, pos)")
                return
            with line.block(f"for _ in range({count}):"):
                line(f"tag, pos, {end} = read_tag(buf, pos)")
                keyword = "if"
                for field in known:
                    with line.block(f"{keyword} tag == {field.tag}:"):
                        self.field(field, f"{target}.{field.name}")
                        self.flush()
                        line(f"if pos != {end}: refuse_tag_size({field.name!r}, pos, {end})")
                    keyword = "elif"
                with line.block("else:"):
                    line(f"keep_tag({target}, tag, buf[pos:{end}])")
                    line(f"pos = {end}")


def min_size(kind: Kind, version: int, flexible: bool) -> int:
    """The fewest bytes that one item of this kind takes: what makes a count believable."""
    if isinstance(kind, Fixed):
        return kind.size
    if isinstance(kind, Text):
        return 1 if flexible else 2
    if isinstance(kind, Blob):
        return 1 if flexible else 4
    size = 1 if flexible else 0
    for field in fields_of(kind):
        if not field.present(version) or field.tag is not None:
            continue
        if field.is_array:
            size += 1 if flexible else 4
        elif isinstance(field.kind, type) and field.nullable(version):
            size += 1
        else:
            size += min_size(field.kind, version, flexible)
    return size
