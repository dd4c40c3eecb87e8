"""Options that no file of a schema defines: taken out of the source, put back into the text.

Schemas carry annotations for validation or for gateways, whose definitions a registry seldom has
and never needs. protoc rejects them. So they are blanked out of the source, which leaves every
other character at its place, and once protoc has accepted the rest they return to the declaration
that they stood in, as the `uninterpreted_option` that a descriptor has for this. They last until
the text is printed: to programs that read messages they mean nothing. Source is read here only as
far as it takes to find options; what it means is protoc's affair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from google.protobuf import descriptor_pb2

from headrace.schemas.protobuf.literals import unquoted

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<number>(?:\d|\.\d)(?:[eE][+-]|[\w.])*)"""
    r"""|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<sign>.)""",
    re.DOTALL,
)
_OPENING: Final = {"{": "}", "[": "]", "(": ")"}
_STATEMENT_ENDS: Final = frozenset({"{", "}", ";"})
_TAB_STOPS: Final = 8
_EXTENSION_RANGE: Final = descriptor_pb2.DescriptorProto.EXTENSION_RANGE_FIELD_NUMBER
_MAX_UNSIGNED: Final = (1 << 64) - 1
_MAX_NEGATIVE: Final = 1 << 63
_OPENS: Final = frozenset({"-", ".", "[", "(", "/"})
_CLOSES: Final = frozenset({":", ",", ";", ".", "]", ")", "/"})
"""Signs without a blank behind them, and without one in front of them."""

_Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Taken:
    """An option that was taken out: where it stood, and what it says."""

    offset: int
    in_brackets: bool
    option: Any


@dataclass(frozen=True, slots=True)
class _Place:
    """A declaration with options of its own, from its first character to behind its last.

    A statement may declare several ranges of extensions, which have its options in common.
    """

    start: _Position
    end: _Position
    owners: list[Any]


@dataclass(frozen=True, slots=True)
class _Entry:
    """`name = value` of a statement or of a list in brackets."""

    name: list[_Token]
    value: list[_Token]


def take_out(source: str, is_unknown: Callable[[str], bool]) -> tuple[str, list[Taken]]:
    """The source with blanks in place of the options of such names, and those options."""
    kept = list(source)
    taken: list[Taken] = []
    tokens = list(_tokens(source))
    at = 0
    while at < len(tokens):
        token = tokens[at]
        is_statement = token.text == "option" and (
            at == 0 or tokens[at - 1].text in _STATEMENT_ENDS
        )
        if is_statement:
            end = _end_of(tokens, at, ";")
            entry = _entry(tokens[at + 1 : end])
            if entry is not None and is_unknown(_first_part(entry)):
                taken.append(Taken(token.start, False, _uninterpreted(entry)))
                _blank(kept, token.start, tokens[min(end, len(tokens) - 1)].end)
            at = end
        elif token.text == "[":
            end = _end_of(tokens, at + 1, "]")
            taken += _take_out_of_list(kept, tokens[at : end + 1], is_unknown)
            at = end
        at += 1
    return "".join(kept), taken


def put_back(file: Any, source: str, taken: Sequence[Taken]) -> None:
    """Add the options to their declarations, which the descriptor's source info locates."""
    ahead = sorted(_places(file), key=lambda place: (place.start, (-place.end[0], -place.end[1])))
    ahead.reverse()
    around: list[_Place] = []
    for each, position in _positions(source, taken):
        while ahead and ahead[-1].start <= position:
            place = ahead.pop()
            _leave(around, place.start)
            around.append(place)
        _leave(around, position)
        owners = [] if each.in_brackets else [file]
        for place in around:
            if _may_own(place.owners, in_brackets=each.in_brackets):
                owners = place.owners
        for owner in owners:
            owner.options.uninterpreted_option.append(each.option)


def extension_names(source: str) -> frozenset[str]:
    """The names of the extensions in a source, without their scopes, and maybe some more."""
    if "extend" not in source:
        return frozenset()
    tokens = list(_tokens(source))
    names: set[str] = set()
    at = 0
    while at < len(tokens):
        if tokens[at].text == "extend":
            start = _next(tokens, at, "{") + 1
            at = _end_of(tokens, start, "}")
            words = (each.text for each, then in pairwise(tokens[start:at]) if then.text == "=")
            # A group is declared by the name of its message, and called by that in small letters.
            names.update(form for word in words for form in (word, word.lower()))
        at += 1
    return frozenset(names)


def discard(message: Any) -> None:
    """Drop, at any depth of a descriptor, the options that no file defines."""
    for field, value in message.ListFields():
        if field.name == "uninterpreted_option":
            message.ClearField(field.name)
        elif field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                discard(each)


def _leave(around: list[_Place], position: _Position) -> None:
    """Forget the declarations that have ended; they are nested, so the last ends first."""
    while around and around[-1].end <= position:
        around.pop()


def _tokens(source: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup
        assert kind is not None
        if kind != "blank":
            yield _Token(kind, match.group(), match.start(), match.end())


def _next(tokens: Sequence[_Token], start: int, text: str) -> int:
    return next((at for at in range(start, len(tokens)) if tokens[at].text == text), len(tokens))


def _end_of(tokens: Sequence[_Token], start: int, end: str) -> int:
    """The index of the sign that ends what begins here, on the same level; the length if none."""
    open_signs: list[str] = []
    for at in range(start, len(tokens)):
        text = tokens[at].text
        if not open_signs and text == end:
            return at
        if text in _OPENING:
            open_signs.append(_OPENING[text])
        elif open_signs and text == open_signs[-1]:
            open_signs.pop()
    return len(tokens)


def _take_out_of_list(
    kept: list[str], tokens: Sequence[_Token], is_unknown: Callable[[str], bool]
) -> list[Taken]:
    """Options between brackets; a list that loses all of them loses its brackets, too."""
    taken: list[Taken] = []
    start, first, left = 1, tokens[0], 0
    while start < len(tokens) - 1:
        end = min(_end_of(tokens, start, ","), len(tokens) - 1)
        entry = _entry(tokens[start:end])
        if entry is not None and is_unknown(_first_part(entry)):
            taken.append(Taken(tokens[start].start, True, _uninterpreted(entry)))
            _blank(kept, tokens[start].start, tokens[end - 1].end)
            # The comma in front goes with an entry; that of the first one left goes further down.
            if tokens[start - 1].text == ",":
                _blank(kept, tokens[start - 1].start, tokens[start - 1].end)
        else:
            if left == 0 and tokens[start - 1].text == ",":
                _blank(kept, tokens[start - 1].start, tokens[start - 1].end)
            left += 1
        start = end + 1
    if taken and left == 0:
        _blank(kept, first.start, first.end)
        _blank(kept, tokens[-1].start, tokens[-1].end)
    return taken


def _blank(kept: list[str], start: int, end: int) -> None:
    for at in range(start, end):
        if kept[at] not in "\n\t":
            kept[at] = " " * len(kept[at].encode())


def _entry(tokens: Sequence[_Token]) -> _Entry | None:
    equals = next((at for at, each in enumerate(tokens) if each.text == "="), None)
    if not equals or equals + 1 >= len(tokens):
        return None
    return _Entry(list(tokens[:equals]), list(tokens[equals + 1 :]))


def _first_part(entry: _Entry) -> str:
    """The option's name as protoc complains about it: `(a.b)`, or a bare word."""
    if entry.name[0].text != "(":
        return entry.name[0].text
    inside = entry.name[1 : _end_of(entry.name, 1, ")")]
    return f"({''.join(each.text for each in inside)})"


def _uninterpreted(entry: _Entry) -> Any:
    option = descriptor_pb2.UninterpretedOption()
    at = 0
    while at < len(entry.name):
        if entry.name[at].text == "(":
            end = _end_of(entry.name, at + 1, ")")
            name = "".join(each.text for each in entry.name[at + 1 : end])
            option.name.add(name_part=name, is_extension=True)
            at = end
        elif entry.name[at].text != ".":
            option.name.add(name_part=entry.name[at].text, is_extension=False)
        at += 1
    _set_value(option, entry.value)
    return option


def _set_value(option: Any, value: list[_Token]) -> None:
    text = "".join(each.text for each in value)
    if value[0].text == "{":
        option.aggregate_value = _spaced(value[1:-1])
    elif all(each.kind == "string" for each in value):
        option.string_value = b"".join(unquoted(each.text) for each in value)
    elif (number := _integer(text)) is not None and 0 <= number <= _MAX_UNSIGNED:
        option.positive_int_value = number
    elif number is not None and -_MAX_NEGATIVE <= number < 0:
        option.negative_int_value = number
    elif value[-1].kind == "number":
        # Also an integer of more than 64 bits, which protoc takes for this, infinite at last.
        option.double_value = float(text.rstrip("fF"))
    else:
        option.identifier_value = text


def _spaced(tokens: list[_Token]) -> str:
    """The tokens of a message with one space between, except beside such signs."""
    written = ""
    for before, each in zip([None, *tokens], tokens, strict=False):
        is_close = before is None or before.text in _OPENS or each.text in _CLOSES
        written += each.text if is_close else f" {each.text}"
    return written


def _integer(text: str) -> int | None:
    digits = text.removeprefix("-")
    octal = re.fullmatch(r"0[0-7]+", digits) is not None
    try:
        number = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return -number if text.startswith("-") else number


def _places(file: Any) -> Iterator[_Place]:
    """The declarations that may have options."""
    ranges: list[Any] = []
    for location in file.source_code_info.location:
        path = location.path
        owner = _declared(file, path)
        if not path or owner is None or "options" not in owner.DESCRIPTOR.fields_by_name:
            continue
        is_declaration = len(path) % 2 == 0
        line, column, *last = location.span
        start, end = (line, column), (last[0] if len(last) == 2 else line, last[-1])
        if isinstance(owner, descriptor_pb2.DescriptorProto.ExtensionRange):
            if is_declaration:
                ranges.append(owner)
        elif is_declaration:
            yield _Place(start, end, [owner])
        elif path[-1] == _EXTENSION_RANGE and isinstance(owner, descriptor_pb2.DescriptorProto):
            ranges = []  # Those of this statement, whose locations follow.
            yield _Place(start, end, ranges)


def _declared(file: Any, path: Sequence[int]) -> Any:
    """What a path of the source info leads to, but for a last step into one of its fields."""
    owner: Any = file
    for number, index in zip(path[::2], path[1::2], strict=False):
        field = owner.DESCRIPTOR.fields_by_number.get(number)
        if field is None or not field.is_repeated or field.message_type is None:
            return None
        owner = getattr(owner, field.name)[index]
    return owner


def _may_own(owners: Sequence[Any], *, in_brackets: bool) -> bool:
    """A group is a field and a message at one place: brackets are the field's."""
    behind = (
        descriptor_pb2.FieldDescriptorProto,
        descriptor_pb2.EnumValueDescriptorProto,
        descriptor_pb2.DescriptorProto.ExtensionRange,
    )
    return isinstance(owners[0], behind) is in_brackets


def _positions(source: str, taken: Sequence[Taken]) -> Iterator[tuple[Taken, _Position]]:
    """Lines and columns as protoc counts: from zero, in bytes, a tab up to the next stop."""
    line = column = done = 0
    for each in sorted(taken, key=lambda each: each.offset):
        lines = source.count("\n", done, each.offset)
        if lines:
            line, column = line + lines, 0
            done = source.rindex("\n", done, each.offset) + 1
        for character in source[done : each.offset]:
            if character == "\t":
                column += _TAB_STOPS - column % _TAB_STOPS
            else:
                column += len(character.encode())
        done = each.offset
        yield each, (line, column)
