"""Values of topics as columns: Avro, JSON and Protobuf, read and written over Arrow without jars.

The functions are called as Spark's own in `pyspark.sql.avro.functions`, `protobuf.functions` and
`functions`: whoever uses those changes the import. Each `from_*` also takes `mode` and
`dead_letter`, so that a poison value stops the query, becomes null, or is routed away.

A value is bytes and a schema is an argument; only `from_registry` and `to_registry` ask a schema
registry for it. Nothing here knows brokers.
"""

from __future__ import annotations

from headrace.pipelines.serdes.functions import from_avro, from_protobuf, to_avro, to_protobuf
from headrace.pipelines.serdes.json import from_json, to_json
from headrace.pipelines.serdes.registry import from_registry, to_registry

__all__ = [
    "from_avro",
    "from_json",
    "from_protobuf",
    "from_registry",
    "to_avro",
    "to_json",
    "to_protobuf",
    "to_registry",
]
