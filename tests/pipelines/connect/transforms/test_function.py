"""Python functions as transforms."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.config.definition import REQUIRED, Kind, Password
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch, of_records
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Struct, struct
from headrace.pipelines.connect.transforms.chain import TransformFault, read_chain
from headrace.pipelines.connect.transforms.function import transform, transform_of
from headrace.pipelines.connect.transforms.named import plugin_of

ROW = struct({"name": schemas.STRING})


@transform("acme.Upper")
def upper(record: Record, field: str, max_length: int = 80) -> Record | None:
    """Writes a field in capitals."""
    text = str(record[field])
    return None if text == "drop" else record.replace(**{field: text.upper()[:max_length]})


@transform("acme.Rename", batch=True)
def rename(batch: Batch, topic: str) -> Batch:
    """Gives every record another topic."""
    return batch.but(topic=topic)


@transform("acme.Wrong")
def wrong(record: Record) -> object:
    """Returns what is no record."""
    return 5


def rows(*names: str) -> list[Record]:
    """Records with a name each."""
    return [Record("t", Struct(ROW, [name]), ROW, position=n) for n, name in enumerate(names)]


OWN = [plugin_of(transform_of(each)) for each in (upper, rename, wrong)]


@pytest.mark.spec("slides:H10")
def test_a_function_of_a_record_is_a_transform() -> None:
    """Its settings come from the signature, underscores as dots; None drops the record."""
    chain = read_chain(
        {
            "transforms": "up",
            "transforms.up.type": "acme.Upper",
            "transforms.up.field": "name",
            "transforms.up.max.length": "2",
        },
        for_sink=True,
        transforms=OWN,
    )
    (batch,) = of_records(rows("abc", "drop", "x"))
    (made,) = chain.apply_batch(batch)
    assert [record["name"] for record in made.records()] == ["AB", "X"]
    assert made.positions.to_pylist() == [0, 2]


def test_a_function_of_a_batch_is_a_transform() -> None:
    """A record goes through it as a batch of one."""
    settings = {
        "transforms": "r",
        "transforms.r.type": "acme.Rename",
        "transforms.r.topic": "u",
    }
    chain = read_chain(settings, for_sink=False, transforms=OWN)
    (batch,) = of_records(rows("a", "b"))
    assert [made.topic for made in chain.apply_batch(batch)] == ["u"]
    one = chain.apply(rows("a")[0])
    assert one is not None
    assert (one.topic, one["name"]) == ("u", "a")


def test_the_definition_follows_from_the_signature() -> None:
    """Kinds from annotations; a parameter without a default is required."""

    @transform("acme.All")
    def every(
        record: Record,
        text: str,
        number: int = 1,
        ratio: float = 0.5,
        names: list[str] | None = None,
        secret: Password | None = None,
        on: bool = False,
    ) -> Record:
        return record

    keys = transform_of(every).definition.by_name
    assert {name: key.kind for name, key in keys.items()} == {
        "text": Kind.STRING,
        "number": Kind.LONG,
        "ratio": Kind.DOUBLE,
        "names": Kind.LIST,
        "secret": Kind.PASSWORD,
        "on": Kind.BOOLEAN,
    }
    assert keys["text"].default is REQUIRED
    assert transform_of(upper).doc == "Writes a field in capitals."
    with pytest.raises(ConfigException, match="Not a number of type LONG"):
        transform_of(every).build({"text": "a", "number": "x"})


def test_what_is_no_record_is_a_fault_with_the_remedy() -> None:
    """The function's name and what it should return."""
    settings = {"transforms": "w", "transforms.w.type": "acme.Wrong"}
    chain = read_chain(settings, for_sink=False, transforms=OWN)
    with pytest.raises(TransformFault, match="acme\\.Wrong returned int: return"):
        chain.apply(rows("a")[0])


def test_a_function_must_be_declared_and_annotated() -> None:
    """Both mistakes are told where they are made."""
    with pytest.raises(TypeError, match="put @transform"):
        transform_of(rows)
    with pytest.raises(TypeError, match="the setting when must be annotated"):

        @transform("acme.Bad")
        def bad(record: Record, when: bytes) -> Record:
            return record
