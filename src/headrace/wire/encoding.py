"""Writes the source of an encoder: straight-line Python that turns one message version into chunks.

The compiled function is `encode(msg)` and returns a list of buffers for one gathering write: what
lies between record batches is joined, and every `Records` value is a chunk of its own that is
never copied. All that is asked of it is `len()`.

What makes the result fast: a run of fixed fields, and of integer arrays between them, is one
`pack`; the empty tag buffer behind it rides along as a padding byte; the one-byte varint is a
look-up. No value is checked beforehand. When packing fails, `diagnosis` looks for the culprit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from headrace.types import ZERO_UUID

from . import primitives
from .diagnosis import unencodable
from .schema import LAST_VERSION, FieldSpec, fields_of, info
from .source import Source
from .types import UUID_KIND, Blob, Fixed, Kept, Kind, Text

_NAMES: Final[dict[str, Any]] = {
    "ENCODE_FAULTS": primitives.ENCODE_FAULTS,
    "Kept": Kept,
    "ONE_BYTE": primitives.ONE_BYTE,
    "ZERO_UUID": ZERO_UUID,
    "join": b"".join,
    "pack": struct.pack,
    "refuse_absent": primitives.refuse_absent,
    "tag_buffer": primitives.tag_buffer,
    "text_length": primitives.text_length,
    "unencodable": unencodable,
    "uvarint": primitives.uvarint,
}


def write_encoder(cls: type, version: int) -> Source:
    """The source of `encode` for one version of a message."""
    return _EncoderWriter(cls, version).write()


_NULL_STRUCT: Final = b"\xff"
_NULL_TAGGED_STRUCT: Final = b"\0"


class _EncoderWriter:
    def __init__(self, cls: type, version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= info(cls).flexible
        self.source = Source(_NAMES)
        self.put = "put"

    def write(self) -> Source:
        line = self.source
        has_records = _holds_records(self.cls, self.version)
        with line.block("def encode(msg):"):
            with line.block("try:"):
                line("parts = []")
                line("put = parts.append")
                if has_records:
                    line("chunks = []")
                self.struct(self.cls, "msg")
                if has_records:
                    line("if parts: chunks.append(join(parts))")
                    line("return chunks")
                else:
                    line("return [join(parts)]")
            with line.block("except ENCODE_FAULTS as fault:"):
                line(f"raise unencodable(msg, {self.version}, fault) from fault")
        return line

    def struct(self, cls: type, value: str) -> None:
        """Write one struct with the tag buffer that closes it."""
        if info(self.cls).is_strict:
            self.refuse_lost_values(cls, value)
        present = [field for field in fields_of(cls) if field.present(self.version)]
        tagged = [field for field in present if field.tag is not None]
        run: list[FieldSpec] = []
        for field in present:
            if field.tag is not None:
                continue
            if field.is_fixed or _is_packed_array(field, self.version):
                run.append(field)
                continue
            self.flush(run, value)
            self.field(field, f"{value}.{field.name}")
        if not self.flexible:
            self.flush(run, value)
        elif tagged:
            self.flush(run, value)
            self.tags(tagged, value)
        else:
            self.close(run, value)

    def refuse_lost_values(self, cls: type, value: str) -> None:
        """What would mean something else without a field must not be written without it."""
        for field in fields_of(cls):
            if not field.present(self.version) and not field.ignorable:
                differs = self.differs_from_default(field, f"{value}.{field.name}")
                self.source(f"if {differs}: refuse_absent({field.name!r})")

    def close(self, run: list[FieldSpec], value: str) -> None:
        """Write the pending run and a tag buffer, which is empty unless a peer sent us more."""
        line = self.source
        if run and all(field.is_fixed for field in run):
            with line.block(f"if {value}.unknown_tags is None:"):
                self.pack_fixed(run, value, "x")
            with line.block("else:"):
                self.pack_fixed(run, value, "")
                line(f"{self.put}(tag_buffer({{}}, {value}.unknown_tags))")
            return
        self.flush(run, value)
        line(
            f"{self.put}(b'\\0' if {value}.unknown_tags is None"
            f" else tag_buffer({{}}, {value}.unknown_tags))"
        )

    def flush(self, run: list[FieldSpec], value: str) -> None:
        """Write a run of fixed fields and integer arrays with one call."""
        if run and all(field.is_fixed for field in run):
            self.pack_fixed(run, value, "")
        elif run:
            self.pack_with_arrays(run, value)
        run.clear()

    def pack_fixed(self, run: list[FieldSpec], value: str, padding: str) -> None:
        codes = "".join(_code(field) for field in run) + padding
        values = ", ".join(_packed(field.kind, f"{value}.{field.name}") for field in run)
        self.source(f"{self.put}({self.source.packer(codes)}({values}))")

    def pack_with_arrays(self, run: list[FieldSpec], value: str) -> None:
        line, codes = self.source, ""
        arguments: list[str] = []
        counts: list[str] = []
        for field in run:
            name = f"{value}.{field.name}"
            if field.is_fixed:
                codes += _code(field)
                arguments.append(_packed(field.kind, name))
                continue
            count = line.fresh("count")
            line(f"{count} = len({name})")
            codes += f"{'B' if self.flexible else 'i'}{{{count}}}{_code(field)}"
            arguments += [f"{count} + 1" if self.flexible else count, f"*{name}"]
            counts.append(count)
        statement = f"{self.put}(pack(f'>{codes}', {', '.join(arguments)}))"
        if not self.flexible:
            line(statement)
            return
        with line.block(f"if {' and '.join(f'{count} < 127' for count in counts)}:"):
            line(statement)
        with line.block("else:"):
            for field in run:
                self.field(field, f"{value}.{field.name}")

    def field(self, field: FieldSpec, value: str) -> None:
        """Write one field that is not part of a run."""
        line = self.source
        if field.is_array:
            self.array(field, value)
        elif isinstance(field.kind, Fixed):
            line(f"{self.put}({line.packer(field.kind.code)}({_packed(field.kind, value)}))")
        elif isinstance(field.kind, type):
            self.nested(field, field.kind, value)
        else:
            self.sized(field, field.kind, value)

    def nested(self, field: FieldSpec, cls: type, value: str) -> None:
        line, item = self.source, self.source.fresh(field.name)
        line(f"{item} = {value}")
        if not field.nullable(self.version):
            self.struct(cls, item)
            return
        with line.block(f"if {item} is None:"):
            null = _NULL_STRUCT if field.tag is None else _NULL_TAGGED_STRUCT
            line(f"{self.put}({null!r})")
        with line.block("else:"):
            line(f"{self.put}(b'\\1')")
            self.struct(cls, item)

    def sized(self, field: FieldSpec, kind: Text | Blob, value: str) -> None:
        """Write a string, bytes or records behind the length."""
        line, data = self.source, self.source.fresh(field.name)
        legacy_code = "h" if isinstance(kind, Text) else "i"
        line(f"{data} = {value}")
        with self.unless_null(field, data, legacy_code):
            if isinstance(kind, Text):
                line(f"{data} = {data}.encode()")
            size = self.length(data, legacy_code)
            if isinstance(kind, Text) or not kind.is_view:
                line(f"{self.put}({data})")
                return
            with line.block(f"if {size}:"):
                line("chunks.append(join(parts))")
                line(f"chunks.append({data})")
                line("parts.clear()")

    def array(self, field: FieldSpec, value: str) -> None:
        line, items = self.source, self.source.fresh("items")
        line(f"{items} = {value}")
        with self.unless_null(field, items, "i"):
            size = self.length(items, "i")
            if isinstance(field.kind, Fixed) and field.kind is not UUID_KIND:
                line(f"{self.put}(pack(f'>{{{size}}}{field.kind.code}', *{items}))")
                return
            if not field.may_be_kept:
                self.items(field, items)
                return
            # The items of a list that is kept are bytes after the first time.
            start = line.fresh("start")
            with line.block(f"if type({items}) is Kept and {self.version} in {items}.encoded:"):
                line(f"{self.put}({items}.encoded[{self.version}])")
            with line.block("else:"):
                line(f"{start} = len(parts)")
                self.items(field, items)
                with line.block(f"if type({items}) is Kept:"):
                    line(f"{items}.encoded[{self.version}] = join(parts[{start}:])")

    def items(self, field: FieldSpec, items: str) -> None:
        """Write the items of an array one by one."""
        line = self.source
        item = line.fresh(field.name)
        with line.block(f"for {item} in {items}:"):
            if isinstance(field.kind, type):
                self.struct(field.kind, item)
            else:
                self.field(field.item(), item)

    @contextmanager
    def unless_null(self, field: FieldSpec, value: str, legacy_code: str) -> Iterator[None]:
        """Write a null; what is written inside the `with` handles everything else."""
        if not field.nullable(self.version):
            yield
            return
        null = b"\0" if self.flexible else struct.pack(">" + legacy_code, -1)
        with self.source.block(f"if {value} is None:"):
            self.source(f"{self.put}({null!r})")
        with self.source.block("else:"):
            yield

    def length(self, value: str, legacy_code: str) -> str:
        """Write the length of a value; the expression of that length."""
        line, size = self.source, self.source.fresh("size")
        line(f"{size} = len({value})")
        if not self.flexible:
            line(f"{self.put}({line.packer(legacy_code)}({size}))")
            return size
        wide = "text_length" if legacy_code == "h" else "uvarint"
        line(f"{self.put}(ONE_BYTE[{size} + 1] if {size} < 127 else {wide}({size} + 1))")
        return size

    def tags(self, fields: list[FieldSpec], value: str) -> None:
        """Write the tag buffer of a struct that has tagged fields."""
        line, known = self.source, self.source.fresh("known")
        differs = {f.name: self.must_be_written(f, f"{value}.{f.name}") for f in fields}
        conditions = [*differs.values(), f"{value}.unknown_tags is not None"]
        with line.block(f"if {' or '.join(conditions)}:"):
            line(f"{known} = {{}}")
            outer = self.put
            for field in fields:
                with line.block(f"if {differs[field.name]}:"):
                    content, self.put = line.fresh("content"), line.fresh("put")
                    line(f"{content} = []")
                    line(f"{self.put} = {content}.append")
                    self.field(field, f"{value}.{field.name}")
                    line(f"{known}[{field.tag}] = join({content})")
            self.put = outer
            line(f"{self.put}(tag_buffer({known}, {value}.unknown_tags))")
        with line.block("else:"):
            line(f"{self.put}(b'\\0')")

    def must_be_written(self, field: FieldSpec, value: str) -> str:
        """The condition under which a tagged field is not left out."""
        if field.is_nullable_struct:
            return "True"  # left out, it would be read as an empty struct, not as null
        return self.differs_from_default(field, value)

    def differs_from_default(self, field: FieldSpec, value: str) -> str:
        """The condition under which leaving a field out would lose something."""
        line, default = self.source, field.default
        if isinstance(default, list):
            is_null = f"{value} is None or " if field.nullable(LAST_VERSION) else ""
            return f"({is_null}len({value}))"
        if default is not None:
            constant = line.constant(default)
            by_identity = f"{value} is not {constant} and " if constant in line.names else ""
            return f"({by_identity}{value} != {constant})"
        if isinstance(field.kind, type) and field.tag is not None and not field.is_nullable_struct:
            empty = f"EMPTY_{field.kind.__name__}"
            line.names.setdefault(empty, field.kind())
            return f"({value} is not None and {value} != {empty})"
        return f"{value} is not None"


def _code(field: FieldSpec) -> str:
    assert isinstance(field.kind, Fixed)
    return field.kind.code


def _packed(kind: Kind, value: str) -> str:
    """What `pack` takes for a value of constant size."""
    return f"{value}.bytes" if kind is UUID_KIND else value


def _is_packed_array(field: FieldSpec, version: int) -> bool:
    is_number = isinstance(field.kind, Fixed) and field.kind is not UUID_KIND
    return field.is_array and is_number and not field.nullable(version)


def _holds_records(cls: type, version: int) -> bool:
    kinds = [field.kind for field in fields_of(cls) if field.present(version)]
    return any(
        kind.is_view if isinstance(kind, Blob) else _holds_records(kind, version)
        for kind in kinds
        if isinstance(kind, (Blob, type))
    )
