"""Values of topics as columns: Avro, JSON and Protobuf, read and written over Arrow without jars.

The functions are called as Spark's own in `pyspark.sql.avro.functions`, `protobuf.functions` and
`functions`: whoever uses those changes the import. Each `from_*` also takes `mode` and
`dead_letter`, so that a poison value stops the query, becomes null, or is routed away.

Nothing here knows topics, brokers or a schema registry: a value is bytes, a schema is an argument.
"""

from __future__ import annotations

from headrace.pipelines.serdes.functions import from_avro, from_protobuf, to_avro, to_protobuf
from headrace.pipelines.serdes.json import from_json, to_json

__all__ = ["from_avro", "from_json", "from_protobuf", "to_avro", "to_json", "to_protobuf"]
