"""What the checker calls compatible, Protobuf itself really reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf import message_factory
from hypothesis import event, given, settings
from hypothesis import strategies as st

from headrace.schemas.protobuf import ProtobufSchema, incompatibilities
from tests.generated import examples
from tests.schemas.protobuf.compatibility_vectors import SCALAR_GROUPS
from tests.schemas.protobuf.resolved import parsed

SCALARS = [kind for group in SCALAR_GROUPS for kind in group]
# What both ends of a change can hold: the smallest type of each group sets the limits.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(SCALAR_GROUPS[0], st.integers(0, 1)),
    **dict.fromkeys(SCALAR_GROUPS[1], st.integers(-(2**31), 2**31 - 1)),
    **dict.fromkeys(("fixed32", "sfixed32"), st.integers(0, 2**31 - 1)),
    **dict.fromkeys(("fixed64", "sfixed64"), st.integers(0, 2**63 - 1)),
    **dict.fromkeys(("string", "bytes"), st.text(max_size=5).map(str.encode)),
    **dict.fromkeys(("float", "double"), st.floats(width=32, allow_nan=False)),
}


@dataclass(frozen=True)
class Field:
    """A field of a generated message; `oneof` and `label` are empty where there is none."""

    kind: str
    label: str
    oneof: str
    name: str

    @property
    def is_repeated(self) -> bool:
        return self.label == "repeated"


Message = dict[int, Field]


@st.composite
def generated_fields(draw: st.DrawFn, proto2: bool, held: tuple[str, ...]) -> Field:
    kind = draw(st.sampled_from([*SCALARS, *held, *(f"map<string, {each}>" for each in held)]))
    name = draw(st.sampled_from("ab"))
    if kind.startswith("map<"):
        return Field(kind, "", "", name)
    oneof = draw(st.sampled_from(["", "", "", "o", "p"]))
    if oneof:
        return Field(kind, "", oneof, name)
    singular = ["optional", "required"] if proto2 else ["", "optional"]
    return Field(kind, draw(st.sampled_from([*singular, "repeated"])), "", name)


@st.composite
def changed_fields(draw: st.DrawFn, field: Field, proto2: bool, held: tuple[str, ...]) -> Field:
    """The field a version later: mostly of the same group, label and oneof."""
    if draw(st.integers(0, 19)) == 0:
        return draw(generated_fields(proto2, held))
    group = next((each for each in SCALAR_GROUPS if field.kind in each), (field.kind,))
    kind = draw(st.sampled_from(group))
    oneof = "" if field.oneof and draw(st.booleans()) else field.oneof
    label = field.label
    if field.oneof and not oneof and proto2:
        label = "optional"
    if label and draw(st.integers(0, 3)) == 0:
        label = draw(st.sampled_from(["optional", "repeated"]))
    if proto2 and label in ("optional", "required"):
        label = draw(st.sampled_from(["optional", "required"]))
    return Field(kind, label, oneof, draw(st.sampled_from("ab")))


@st.composite
def two_versions(draw: st.DrawFn, proto2: bool, held: tuple[str, ...]) -> tuple[Message, Message]:
    older: Message = draw(
        st.dictionaries(st.integers(1, 6), generated_fields(proto2, held), max_size=5)
    )
    newer: Message = {}
    for number, field in older.items():
        if draw(st.integers(0, 7)):
            newer[number] = draw(changed_fields(field, proto2, held))
    if draw(st.booleans()):
        newer.setdefault(draw(st.integers(1, 8)), draw(generated_fields(proto2, held)))
    return older, newer


def printed(name: str, message: Message) -> str:
    plain: list[str] = []
    oneofs: dict[str, list[str]] = {}
    for number, field in message.items():
        line = f"{field.label} {field.kind} {field.name}{number} = {number};"
        if field.oneof:
            oneofs.setdefault(field.oneof, []).append(line)
        else:
            plain.append(line)
    grouped = [f"oneof {oneof} {{ {' '.join(lines)} }}" for oneof, lines in oneofs.items()]
    return f"message {name} {{ {' '.join([*plain, *grouped])} }}"


def schema(messages: dict[str, Message], proto2: bool) -> ProtobufSchema:
    body = "\n".join(printed(name, each) for name, each in messages.items())
    syntax = "proto2" if proto2 else "proto3"
    return parsed(f'syntax = "{syntax}";\nenum E {{ ZERO = 0; ONE = 1; }}\n{body}')


def fill(data: st.DataObject, message: Any, messages: dict[str, Message], name: str) -> None:
    """Set some fields of a message of the older schema; of a oneof at most one."""
    used = set()
    for number, field in messages[name].items():
        attribute = f"{field.name}{number}"
        required = field.label == "required"
        if field.oneof in used or not (required or data.draw(st.booleans())):
            continue
        if field.oneof:
            used.add(field.oneof)
        if field.kind.startswith("map<"):
            fill(data, getattr(message, attribute)["key"], messages, "Inner")
        elif field.kind == "Inner":
            held = getattr(message, attribute)
            inner = held.add() if field.is_repeated else held
            inner.SetInParent()
            fill(data, inner, messages, "Inner")
        else:
            values = data.draw(st.lists(VALUES[field.kind], min_size=1, max_size=3))
            values = [convert(field.kind, each) for each in values]
            if field.is_repeated:
                getattr(message, attribute).extend(values)
            else:
                setattr(message, attribute, values[0])


def convert(kind: str, value: Any) -> Any:
    """A value as a field of this kind holds it."""
    if kind == "string":
        return value.decode() if isinstance(value, bytes) else value
    if kind == "bytes":
        return value.encode() if isinstance(value, str) else value
    return bool(value) if kind == "bool" else value


def survived(
    written: Any, read: Any, older: dict[str, Message], newer: dict[str, Message], name: str
) -> None:
    """Every field that both know arrived with its value."""
    for number in older[name].keys() & newer[name].keys():
        before, after = older[name][number], newer[name][number]
        sent = getattr(written, f"{before.name}{number}")
        got = getattr(read, f"{after.name}{number}")
        if before.kind.startswith("map<"):
            assert sorted(sent) == sorted(got)
            for key in sent:
                survived(sent[key], got[key], older, newer, "Inner")
            continue
        if not before.is_repeated:
            field = written.DESCRIPTOR.fields_by_number[number]
            is_set = written.HasField(field.name) if field.has_presence else bool(sent)
            sent = [sent] if is_set else []
        if not after.is_repeated:
            # Of several values a parser of one keeps the last; messages are merged.
            got, sent = [got] if sent else [], list(sent)[-1:]
        assert len(sent) == len(got)
        for one, other in zip(sent, got, strict=True):
            if before.kind == "Inner":
                survived(one, other, older, newer, "Inner")
            else:
                assert convert(after.kind, one) == other


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.booleans())
def test_what_is_called_compatible_is_really_read(data: st.DataObject, proto2: bool) -> None:
    """Bytes of a writer parse with every reader that is called compatible, and values survive."""
    versions = {
        "M": data.draw(two_versions(proto2, ("Inner",))),
        "Inner": data.draw(two_versions(proto2, ())),
    }
    older = {name: each[0] for name, each in versions.items()}
    newer = {name: each[1] for name, each in versions.items()}
    writer, reader = schema(older, proto2), schema(newer, proto2)
    if incompatibilities(reader, writer):
        event("incompatible")
        return
    event("compatible")
    written = message_factory.GetMessageClass(writer.pool.FindMessageTypeByName("M"))()
    fill(data, written, older, "M")
    read = message_factory.GetMessageClass(reader.pool.FindMessageTypeByName("M"))()
    read.ParseFromString(written.SerializeToString())
    assert read.IsInitialized()
    survived(written, read, older, newer, "M")
