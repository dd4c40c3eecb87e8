"""Lines into drafts."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from headrace.cli.draft_lines import Form, LineReader
from headrace.cli.failures import Failure
from headrace.cli.record_json import Draft
from headrace.cli.record_text import Encoding, plain_pack

NOTHING = Draft(None, None, [])


def reader(**options: object) -> LineReader:
    given: dict[str, object] = {
        "form": Form.LINE,
        "key": plain_pack(Encoding.TEXT),
        "value": plain_pack(Encoding.TEXT),
        "defaults": NOTHING,
    }
    return LineReader(**(given | options))  # type: ignore[arg-type]


def drafts(data: bytes, **options: object) -> list[Draft]:
    return list(reader(**options).read(io.BytesIO(data), "input"))


def test_each_line_is_a_value() -> None:
    """Line ends of both kinds are cut off; an empty line is an empty value, not null."""
    assert [draft.value for draft in drafts(b"a\nb\r\n\nc")] == [b"a", b"b", b"", b"c"]


def test_the_separator_splits_at_its_first_place() -> None:
    """A value may hold the separator again."""
    (draft,) = drafts(b"k::v::w\n", separator=b"::")
    assert (draft.key, draft.value) == (b"k", b"v::w")


def test_the_marker_is_null_and_no_other_text_is() -> None:
    """--null-marker makes tombstones."""
    found = drafts(b"a:NULL\nNULL:b\nNULLS:\n", separator=b":", null_marker=b"NULL")
    assert [(draft.key, draft.value) for draft in found] == [
        (b"a", None),
        (None, b"b"),
        (b"NULLS", b""),
    ]


def test_a_line_without_its_separator_stops_with_its_number() -> None:
    """What came before is kept, the fault is found at once."""
    lines = reader(separator=b":").read(io.BytesIO(b"a:1\nb\n"), "orders.txt")
    assert next(lines).value == b"1"
    with pytest.raises(Failure, match=r"orders\.txt line 2: the key separator is missing"):
        next(lines)


def test_options_fill_in_what_a_json_line_leaves_out() -> None:
    """--key, --header, --partition and --timestamp are defaults; headers add up."""
    defaults = Draft(b"dk", None, [("a", b"1")], 5, 1000)
    first, second = drafts(
        b'{"value": "v"}\n{"key": "k", "headers": {"b": "2"}, "partition": 0, "timestamp": 7}\n',
        form=Form.JSON,
        defaults=defaults,
    )
    assert first == Draft(b"dk", b"v", [("a", b"1")], 5, 1000)
    assert second == Draft(b"k", None, [("a", b"1"), ("b", b"2")], 0, 7)


def test_values_are_decoded() -> None:
    """--value-format hex reads bytes that no line could hold."""
    assert drafts(b"0a00ff\n", value=plain_pack(Encoding.HEX))[0].value == b"\n\x00\xff"


def test_files_are_read_in_turn_and_a_missing_one_is_named(tmp_path: Path) -> None:
    """Several files are one input."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1\n2\n")
    two.write_bytes(b"3")
    values = [draft.value for draft in reader().read_files([one, two])]
    assert values == [b"1", b"2", b"3"]
    with pytest.raises(Failure, match="missing cannot be read"):
        list(reader().read_files([tmp_path / "missing"]))
