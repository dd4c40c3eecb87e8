"""Records of a source on their way to a topic, where some of them cannot go on."""

from __future__ import annotations

from headrace.pipelines.connect.converters.named import named
from headrace.pipelines.connect.host.source_records import Converters, Named, SourceRecords
from headrace.pipelines.connect.host.tolerance import ErrorSettings, Tolerance
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.chain import read_chain
from headrace.pipelines.connect.transforms.function import transform, transform_of
from headrace.pipelines.connect.transforms.named import plugin_of
from headrace.runtime.clock import SystemClock


@transform("acme.Routed")
def routed(record: Record) -> Record:
    """Sends words to the topic of their first letter, and fails on a number."""
    word = str(record.value)
    if word.isdigit():
        raise ValueError(word)
    return record.but(topic=word[0])


def test_records_around_a_bad_one_are_written_together_and_in_order() -> None:
    """A batch of one record each would cost a hundred times the bytes and the CPU."""
    text = "org.apache.kafka.connect.storage.StringConverter"
    converter = Named(text, named(text).made({}, "value"))
    settings = {"transforms": "r", "transforms.r.type": "acme.Routed"}
    chain = read_chain(settings, for_sink=False, transforms=[plugin_of(transform_of(routed))])
    tolerance = Tolerance(ErrorSettings(tolerates_all=True), SystemClock(), lambda s: False, "t-0")
    records = SourceRecords(chain, Converters(converter, converter, converter), tolerance)
    words = ["a1", "a2", "7", "a3", "b1", "b2", "a4"]
    batch = Batch.of_rows(words, topic="t", partition={}, offset={}, schema=schemas.STRING)
    written = records.written(batch)
    assert [(each.topic, each.rows.column("value").to_pylist()) for each in written] == [
        ("a", [b"a1", b"a2", b"a3"]),
        ("b", [b"b1", b"b2"]),
        ("a", [b"a4"]),
    ]
    assert tolerance.failed == 1
