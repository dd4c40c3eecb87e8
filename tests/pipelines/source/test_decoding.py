"""Options that let the source decode: what is refused, and with which words."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from headrace.errors import ConfigError
from headrace.pipelines.source.decoding import BYTES_STAY, parse_decoding
from headrace.pipelines.source.options import batch_options, check_early

NUMBER = {"value.format": "avro", "value.schema": '"long"'}


def test_nothing_is_decoded_unless_asked() -> None:
    """Bytes stay bytes, whether the format is left out or says so."""
    assert parse_decoding({}) == parse_decoding({"key.format": "Binary"}) == BYTES_STAY


def test_a_column_changes_its_type_and_nothing_else() -> None:
    """What was decided on the driver works after its way to a worker."""
    options = pickle.loads(pickle.dumps(batch_options({"subscribe": "t"} | NUMBER)))
    rows = pa.record_batch({"key": [b"k", None], "value": [b"\x04", None], "offset": [1, 2]})
    decoded = options.decoding.apply(rows)
    assert decoded.schema.names == ["key", "value", "offset"]
    assert decoded.column(1).type == pa.int64()
    assert decoded.to_pylist()[0] == {"key": b"k", "value": 2, "offset": 1}


def test_the_schema_says_what_will_come() -> None:
    """Headers included; Spark asks for it before there is a reader."""
    schema = check_early({"subscribe": "t", "includeHeaders": "true"} | NUMBER)
    assert not isinstance(schema, str)
    assert [each.dataType.simpleString() for each in schema][:3] == ["binary", "bigint", "string"]
    assert schema.names[-1] == "headers"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"value.format": "xml"}, "value.format is 'xml'; allowed: binary, avro, protobuf"),
        ({"key.format": "avro"}, "key.format is avro, which needs key.schema"),
        ({"value.schema": '"int"'}, "value.schema says nothing about a value in the format binary"),
        (NUMBER | {"value.messageName": "M"}, "value.messageName says nothing"),
        (NUMBER | {"value.deadLetter": "maybe"}, "value.deadLetter is 'maybe'"),
        (NUMBER | {"value.mode": "loose"}, "the options value.… are wrong: mode is loose"),
        (NUMBER | {"value.schema": "{"}, "the options value.… are wrong"),
        (
            {
                "value.format": "protobuf",
                "value.messagename": "M",
                "value.descfilepath": "/no/such/file",
            },
            "/no/such/file",
        ),
    ],
)
def test_wrong_options_are_refused_before_anything_is_read(
    options: dict[str, str], complaint: str
) -> None:
    """The option, its value, and what would be right."""
    with pytest.raises(ConfigError, match=complaint.replace("(", r"\(")):
        check_early({"subscribe": "t"} | options)
