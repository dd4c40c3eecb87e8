"""The settings of the JDBC sink."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import not_empty, one_of
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.jdbc.connection import ConnectionSettings
from headrace.pipelines.connect.connectors.jdbc.fields import KAFKA_FIELDS
from headrace.pipelines.connect.faults import ConfigException

INSERT_MODES: Final = ("insert", "upsert", "update")
PK_MODES: Final = ("none", "kafka", "record_key", "record_value")


class SinkSettings(ConnectionSettings):
    """What is written to which table, and what becomes of tables that do not fit."""

    insert_mode: str = Config.key(
        "insert.mode",
        default="insert",
        check=one_of(*INSERT_MODES, ignore_case=True),
        doc="How rows are written: insert, upsert (new or in the place of the row with the same "
        "key), update (of rows that are there).",
        importance="high",
        group="Writes",
        display_name="Insert Mode",
    )
    batch_size: int = Config.key(
        "batch.size",
        default=3000,
        at_least=0,
        doc="The most rows that go to the database at once.",
        group="Writes",
        display_name="Batch Size",
    )
    delete_enabled: bool = Config.key(
        "delete.enabled",
        default=False,
        doc="Whether a record without a value deletes the row of its key; needs "
        "pk.mode=record_key.",
        group="Writes",
        display_name="Enable deletes",
    )
    table_types: list[str] = Config.key(
        "table.types",
        default=["TABLE"],
        doc="Which kinds of tables may be written: TABLE, PARTITIONED TABLE, VIEW.",
        importance="low",
        group="Writes",
        display_name="Table Types",
    )
    table_format: str = Config.key(
        "table.name.format",
        default="${topic}",
        check=not_empty,
        doc="The table's name; ${topic} in it stands for the topic's.",
        group="Data Mapping",
        display_name="Table Name Format",
    )
    pk_mode: str = Config.key(
        "pk.mode",
        default="none",
        check=one_of(*PK_MODES, ignore_case=True),
        doc="Where the primary key comes from: nowhere (none), topic, partition and offset "
        "(kafka), the record's key (record_key), fields of its value (record_value).",
        importance="high",
        group="Data Mapping",
        display_name="Primary Key Mode",
    )
    pk_fields: list[str] = Config.key(
        "pk.fields",
        default=[],
        doc="The columns of the primary key. Without them: all fields of the key or value, or "
        f"{', '.join(KAFKA_FIELDS)}. A key that is not a struct needs one name.",
        group="Data Mapping",
        display_name="Primary Key Fields",
    )
    whitelist: list[str] = Config.key(
        "fields.whitelist",
        default=[],
        doc="The fields of the value that are written, beside the primary key's; without it, all.",
        group="Data Mapping",
        display_name="Fields Whitelist",
    )
    auto_create: bool = Config.key(
        "auto.create",
        default=False,
        doc="Whether a missing table is created from the records' schema.",
        group="DDL Support",
        display_name="Auto-Create",
    )
    auto_evolve: bool = Config.key(
        "auto.evolve",
        default=False,
        doc="Whether columns that a table lacks are added.",
        group="DDL Support",
        display_name="Auto-Evolve",
    )
    max_retries: int = Config.key(
        "max.retries",
        default=10,
        at_least=0,
        doc="How many times a write is tried again after a fault that may pass.",
        group="Retries",
        display_name="Maximum Retries",
    )
    retry_backoff_ms: int = Config.key(
        "retry.backoff.ms",
        default=3000,
        at_least=0,
        doc="Milliseconds before a write is tried again.",
        group="Retries",
        display_name="Retry Backoff (millis)",
    )
    exactly_once: bool = Config.key(
        "headrace.exactly.once",
        default=False,
        doc="Whether offsets are kept in the database, in the transaction of their rows, so that "
        "each record is written exactly once.",
        group="Writes",
        display_name="Exactly once",
    )

    def check(self) -> None:
        """What no single setting can say of itself."""
        self.insert_mode = self.insert_mode.lower()
        self.pk_mode = self.pk_mode.lower()
        if self.delete_enabled and self.pk_mode != "record_key":
            raise ConfigException(
                "Primary key mode must be 'record_key' when delete support is enabled"
            )
