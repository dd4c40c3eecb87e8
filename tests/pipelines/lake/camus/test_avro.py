"""Messages with schemas of a registry become files of Avro, Parquet or JSON lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import fastavro
import pyarrow.parquet as pq
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from headrace.schemas.framing import frame
from tests.cli.platform_process import headrace_up
from tests.pipelines.lake.camus.jobs import Camus
from tests.pipelines.source.topics import Topics

SCHEMA = {
    "type": "record",
    "name": "Click",
    "fields": [{"name": "page", "type": "string"}, {"name": "at", "type": "long"}],
}


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    with headrace_up("broker", "registry") as found:
        yield found


def test_avro_by_the_registry(addresses: dict[str, str], tmp_path: Path) -> None:
    topics = Topics(addresses["broker"])
    topic = topics.create()
    with SchemaRegistryClient({"url": addresses["registry"]}) as registry:
        number = registry.register_schema(f"{topic}-value", Schema(json.dumps(SCHEMA), "AVRO"))
    clicks = [{"page": "/a", "at": 0}, {"page": "/b", "at": 3_600_000}]
    values: list[bytes] = []
    for click in clicks:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, SCHEMA, click)
        values.append(frame(number, out.getvalue()))
    topics.produce(topic, values)
    found = {}
    for provider in ("Avro", "Parquet", "String"):
        camus = Camus(
            topics,
            tmp_path / provider,
            topic,
            camus__message__decoder__class="KafkaAvroMessageDecoder",
            etl__record__writer__provider__class=f"{provider}RecordWriterProvider",
            schema__registry__url=addresses["registry"],
        )
        assert camus.run().failed == []
        assert [name.split("/")[5] for name in camus.files()] == ["00", "01"]
        found[provider] = list(camus.files().values())
    avro = [io.BytesIO(path.read_bytes()) for path in found["Avro"]]
    assert [row for file in avro for row in fastavro.reader(file)] == clicks
    assert [row for path in found["Parquet"] for row in pq.read_table(path).to_pylist()] == clicks
    assert [json.loads(path.read_bytes()) for path in found["String"]] == clicks
