"""The table of fraud rows in Hive's catalog: ORC, partitioned by status, five buckets by address.

Spark keeps Hive's catalog in an embedded Derby database when it is started with
`spark.sql.catalogImplementation=hive`; with `hive.metastore.uris` it asks a metastore instead.
Nothing here knows topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from examples.ip_fraud.rules import FraudRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKETS: Final = 5
BUCKET_COLUMN: Final = "ip"
PARTITION_COLUMN: Final = "status_code"
SCHEMA: Final = ", ".join(f"{name} STRING" for name in FraudRow._fields)


class RowTable(Protocol):
    """A table that rows can be added to, all of them or none."""

    def append(self, rows: Sequence[FraudRow]) -> None: ...


class HiveTable:
    """One table of a database; `create` drops an older one of that name first."""

    def __init__(self, spark: SparkSession, database: str, table: str) -> None:
        self._spark = spark
        self.name = f"{database}.{table}"

    def create(self) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {self.name}")
        self._spark.sql(
            f"CREATE TABLE {self.name} ({SCHEMA}) USING orc PARTITIONED BY ({PARTITION_COLUMN}) "
            f"CLUSTERED BY ({BUCKET_COLUMN}) INTO {BUCKETS} BUCKETS"
        )

    def append(self, rows: Sequence[FraudRow]) -> None:
        frame = self._spark.createDataFrame(list(rows), SCHEMA).coalesce(1)
        frame.write.insertInto(self.name)
