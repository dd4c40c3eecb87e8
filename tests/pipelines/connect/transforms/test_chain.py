"""The chain of a connector: what its settings make of records and of batches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.connect.faults import ConfigException, DataException, java_class
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch, Mark, of_records
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import Struct, struct
from headrace.pipelines.connect.transforms.chain import Chain, TransformFault, read_chain
from tests.pipelines.connect.transforms.oracle import comparable, shown_record

ROW = struct({"id": schemas.INT64, "name": schemas.OPTIONAL_STRING})
FOUR = {
    "transforms": "hoist,insert,replace,mask",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": "InsertField$Value",
    "transforms.insert.topic.field": "topic",
    "transforms.insert.static.field": "from",
    "transforms.insert.static.value": "file",
    "transforms.replace.type": "ReplaceField$Value",
    "transforms.replace.renames": "line:text",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "topic",
}


def row(number: int, name: str | None = "n", **other: object) -> Record:
    """A record of `ROW`."""
    value = Struct(ROW, [number, name])
    return Record("t", value, ROW, position=number).but(**other)


def by_records(chain: Chain, records: list[Record]) -> list[object]:
    """What the chain makes of records one by one, as envelopes."""
    made = [chain.apply(record) for record in records]
    return [comparable(shown_record(record)) for record in made if record is not None]


def by_batches(chain: Chain, records: list[Record]) -> list[object]:
    """The same by batches."""
    left = [each for batch in of_records(records) for each in chain.apply_batch(batch)]
    return [comparable(shown_record(record)) for batch in left for record in batch.records()]


@pytest.mark.spec("slides:H08")
def test_links_are_applied_in_their_order() -> None:
    """Each sees what the one before it made, in columns as by records."""
    chain = read_chain(FOUR, for_sink=False)
    (batch,) = of_records([Record("t", f"l{n}", schemas.STRING, position=n) for n in range(3)])
    (made,) = chain.apply_batch(batch)
    assert made.value.arrow is not None, "it stayed in columns"
    assert made.value.arrow.to_pylist()[1] == {"text": "l1", "topic": "", "from": "file"}
    assert [link.alias for link in chain.links] == ["hoist", "insert", "replace", "mask"]
    assert chain.apply(batch.records()[1]) == made.records()[1]


@pytest.mark.spec("slides:H11", "slides:H14")
def test_a_field_of_the_value_becomes_the_key() -> None:
    """A struct of fields first, and then the one field alone."""
    of_connect = "org.apache.kafka.connect.transforms."
    settings = {
        "transforms": "key,id",
        "transforms.key.type": of_connect + "ValueToKey",
        "transforms.key.fields": "id",
        "transforms.id.type": of_connect + "ExtractField$Key",
        "transforms.id.field": "id",
    }
    row = schemas.struct({"id": schemas.INT32, "name": schemas.STRING})
    made = read_chain(settings, for_sink=False).apply(Record("t", Struct(row, [7, "x"]), row))
    assert made is not None
    assert (made.key, made.key_schema) == (7, schemas.INT32)


def test_without_transforms_everything_goes_on_as_it_is() -> None:
    """No links, no work."""
    (batch,) = of_records([row(1)])
    chain = read_chain({}, for_sink=True)
    assert chain.apply_batch(batch)[0] is batch
    assert chain.apply(row(1)) == row(1)


@pytest.mark.parametrize(("negate", "left"), [("false", [0, 2]), ("true", [1, 3])])
def test_a_predicate_says_which_records_are_meant(negate: str, left: list[int]) -> None:
    """Filter drops those that the predicate is true of, or with negate all others."""
    chain = read_chain(
        {
            "transforms": "drop",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "dead",
            "transforms.drop.negate": negate,
            "predicates": "dead",
            "predicates.dead.type": "RecordIsTombstone",
        },
        for_sink=True,
    )
    records = [row(n) if n % 2 == 0 else row(n, value=None) for n in range(4)]
    kept = [record.position for record in records if chain.apply(record) is not None]
    assert kept == left
    (batch,) = of_records(records)
    assert [n for made in chain.apply_batch(batch) for n in made.positions.to_pylist()] == left


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.sampled_from(["Cast", "Mask", "Topic"]))
def test_rows_that_are_not_meant_keep_their_place(marked: list[bool], which: str) -> None:
    """A predicate by header over columns: what is meant changes, and the order stays."""
    settings = {
        "Cast": {"transforms.a.type": "Cast$Value", "transforms.a.spec": "id:string"},
        "Mask": {"transforms.a.type": "MaskField$Value", "transforms.a.fields": "name"},
        "Topic": {
            "transforms.a.type": "RegexRouter",
            "transforms.a.regex": "(.*)",
            "transforms.a.replacement": "$1-x",
        },
    }[which]
    chain = read_chain(
        {
            "transforms": "a",
            "transforms.a.predicate": "p",
            "predicates": "p",
            "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
            "predicates.p.name": "h",
            **settings,
        },
        for_sink=True,
    )
    records = [row(n, headers=(Header("h", 1),) if m else ()) for n, m in enumerate(marked)]
    assert by_batches(chain, records) == by_records(chain, records)
    if which == "Mask":
        (batch,) = of_records(records)
        assert len(chain.apply_batch(batch)) == 1, "what is alike is one batch again"


def test_a_link_without_columns_is_done_by_records_and_the_rest_too() -> None:
    """Rows that are null need a look of their own in Flatten."""
    nested = struct({"a": struct({"b": schemas.INT32})})
    inner = Struct.of(nested.fields[0].schema, {"b": 1})
    values = [Struct.of(nested, {"a": inner}), None, Struct.of(nested, {"a": inner})]
    records = [Record("t", value, nested, position=n) for n, value in enumerate(values)]
    chain = read_chain(
        {
            "transforms": "a,b",
            "transforms.a.type": "Flatten$Value",
            "transforms.b.type": "RegexRouter",
            "transforms.b.regex": "t",
            "transforms.b.replacement": "u",
        },
        for_sink=False,
    )
    (batch,) = of_records(records)
    made = chain.apply_batch(batch)
    assert [each.positions.to_pylist() for each in made] == [[0], [1], [2]], "schemas part"
    assert {each.topic for each in made} == {"u"}
    assert by_batches(chain, records) == by_records(chain, records)


def test_a_fault_says_which_transform_and_which_record() -> None:
    """By batch as by record; the cause is the transform's own fault."""
    chain = read_chain(
        {"transforms": "key", "transforms.key.type": "ValueToKey", "transforms.key.fields": "id"},
        for_sink=True,
    )
    records = [row(1), row(2, value=None), row(3)]
    (batch,) = of_records(records)
    with pytest.raises(TransformFault, match="transform key") as of_record:
        chain.apply(records[1])
    with pytest.raises(TransformFault) as of_batch:
        chain.apply_batch(batch)
    for fault in (of_record.value, of_batch.value):
        assert fault.alias == "key"
        assert fault.class_name == "org.apache.kafka.connect.transforms.ValueToKey"
        assert fault.record.position == 2
        assert isinstance(fault.__cause__, DataException)
        assert java_class(fault.__cause__) == "org.apache.kafka.connect.errors.DataException"


def test_marks_stay_when_rows_go() -> None:
    """Where a source stands is told even if every record of a batch was dropped."""
    mark = Mark(2, {"file": "a"}, {"position": 7})
    batch = of_records([row(0), row(1)], (mark,))[0]
    dropped = read_chain({"transforms": "f", "transforms.f.type": "Filter"}, for_sink=False)
    (left,) = dropped.apply_batch(batch)
    assert len(left) == 0
    assert left.marks == (mark,)
    routed = read_chain({"transforms": "r", "transforms.r.type": "TimestampRouter"}, for_sink=False)
    day = 86_400_000
    timed = batch.but(timestamps=pa.array([0, day]))
    first, last = routed.apply_batch(timed)
    assert (first.topic, last.topic) == ("t-19700101", "t-19700102")
    assert (first.marks, last.marks) == ((), (mark,))


@pytest.mark.parametrize("for_sink", [True, False])
def test_offsets_are_inserted_for_sinks_only(for_sink: bool) -> None:
    """Positions of a source are no offsets."""
    settings = {"transforms": "i", "transforms.i.type": "InsertField$Value"}
    chain = read_chain({**settings, "transforms.i.offset.field": "at"}, for_sink=for_sink)
    if for_sink:
        (made,) = chain.apply_batch(of_records([row(41), row(42)])[0])
        assert [record["at"] for record in made.records()] == [41, 42]
    else:
        with pytest.raises(TransformFault, match="Only SinkRecord supported"):
            chain.apply(row(41))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"transforms": "a"}, 'Missing required configuration "transforms.a.type"'),
        ({"transforms": "a,a"}, "Duplicate alias provided."),
        (
            {"transforms": "a", "transforms.a.type": "Csat$Value"},
            "Class Csat$Value could not be found. "
            "Did you mean org.apache.kafka.connect.transforms.Cast$Value?",
        ),
        (
            {"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.Cast"},
            "Transformation is abstract and cannot be created. Did you mean "
            "org.apache.kafka.connect.transforms.Cast$Key, "
            "org.apache.kafka.connect.transforms.Cast$Value?",
        ),
        (
            {"transforms": "a", "transforms.a.type": "Filter", "transforms.a.predicate": "p"},
            "Invalid value p for configuration transforms.a.predicate: "
            "no such alias: name it in the setting predicates",
        ),
        (
            {"transforms": "a", "transforms.a.type": "Filter", "transforms.a.negate": "true"},
            "Config 'transforms.a.negate' was provided but there is no config "
            "'transforms.a.predicate' defining a predicate to be negated.",
        ),
        (
            {"transforms": "a", "transforms.a.type": "HoistField$Key"},
            'Missing required configuration "field" which has no default value.',
        ),
    ],
)
def test_wrong_settings_are_rejected(settings: dict[str, str], told: str) -> None:
    """With the setting and the remedy."""
    with pytest.raises(ConfigException) as fault:
        read_chain(settings, for_sink=True)
    assert told in str(fault.value)


def test_an_empty_batch_stays_empty() -> None:
    """No rows, no batches."""
    (batch,) = of_records([row(1)])
    empty: Batch = batch.slice(0, 0)
    assert read_chain(FOUR, for_sink=True).apply_batch(empty) == []
